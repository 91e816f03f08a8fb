#!/usr/bin/env python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""Usage: email_sender.py PROGRAM: a mail server that is busy, hangs up, and refuses for now and for good."""
import email.utils
import os
import re
import socket
import subprocess
import sys
import threading

from program import Program

BROKER = f"sqlite:{os.getcwd()}/jobs.db"


class Server(threading.Thread):
    """Speaks SMTP on loopback. answers: what it says to an address, one time after the other; then it is content."""

    def __init__(self, answers):
        super().__init__(daemon=True)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = str(self.socket.getsockname()[1])
        self.answers = answers
        self.emails = []
        self.lock = threading.Lock()
        self.start()

    def run(self):
        while True:
            connection, _ = self.socket.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection, connection.makefile("rw", encoding="ascii", newline="") as stream:
            def say(*lines):
                stream.write("".join(line + "\r\n" for line in lines))
                stream.flush()

            def command(pattern):
                line = stream.readline()
                found = re.fullmatch(pattern + "\r\n", line)
                assert found, line
                return found[1] if found.groups() else None

            say("220 mail.example.org")
            command("EHLO localhost")
            say("250-mail.example.org", "250 HELP")
            command("MAIL FROM:<shop@example.org>")
            say("250 OK")
            address = command("RCPT TO:<(.*)>")
            with self.lock:
                answers = self.answers.get(address, [])
                answer = answers.pop(0) if answers else "250 OK"
            say(answer if answer != "nothing" else "250 OK")
            if answer not in ("250 OK", "nothing"):
                return
            command("DATA")
            say("354 go on")
            text = ""
            while (line := stream.readline()) != ".\r\n":
                text += re.sub(r"^\.", "", line)
            with self.lock:
                self.emails.append((address, text))
            if answer != "nothing":
                say("250 taken")
                command("QUIT")
                say("221 bye")


def put(text):
    subprocess.run(["weir", "put", "--quiet", f"--broker={BROKER}", "emails"], input=text, text=True, check=True)


print("-- a server of many moods")
put("ann@example.org\nhello\ntwo lines\n.and a dot\n")
put("bob@example.org\nnot now\n")
put("dan@example.org\nthe answer is lost\n.")
put("eve@example.org\nnever\ntext\n")
put("no address\nat all\n")
put("mal@example.org> SIZE=1\nhello\n")
put("mal@example.org\nhello\r\nBcc: eve@example.org\r\n")
server = Server({"bob@example.org": ["421 too busy", "451 try again"],
                 "dan@example.org": ["nothing"],
                 "eve@example.org": ["451 try again", "550 no such user"]})
program = Program(sys.argv[1], BROKER, "127.0.0.1", server.port, "shop@example.org")
program.end()

print("-- what the server has got")
ids = {}
dates = {}
for receiver, content in sorted(server.emails):
    identity = re.search(r"^Message-ID: <([\w.]+@example\.org)>\r$", content, re.M)[1]
    again = " again" if identity in ids else ""
    assert ids.setdefault(identity, receiver) == receiver
    date = re.search(r"^Date: (.*)\r$", content, re.M)[1]
    assert dates.setdefault(identity, date) == date and email.utils.parsedate_to_datetime(date).year > 2020, date
    content = content.replace(identity, "...").replace(date, "...").replace("\r\n", "|")
    print(f"{receiver}{again}:", content)

print("-- no server")
with socket.socket() as nobody:
    nobody.bind(("127.0.0.1", 0))
    put("ann@example.org\nlate\n")
    program = Program(sys.argv[1], BROKER, "127.0.0.1", str(nobody.getsockname()[1]), "shop@example.org")
    program.expect("ann@example.org: attempt 1: retry: the server cannot be reached")
    program.signal("KILL")
    program.process.wait()
program = Program(sys.argv[1], BROKER, "localhost", server.port, "shop@example.org")
last = program.process.stdout.read().splitlines()[-1]
print(re.sub("attempt [0-9]+", "attempt N", last))
