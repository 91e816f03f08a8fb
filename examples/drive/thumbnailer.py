#!/usr/bin/env python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""Usage: thumbnailer.py PROGRAM: pictures of all kinds, and Ctrl-C once, twice, and once with patience."""
import contextlib
import os
import sys

from program import Program

WIDTH, HEIGHT = 300, 7  # three columns and three lines become one, at the edges fewer


def header(kind, width, height):
    return f"P{kind} {width} {height} 255\n".encode()


def sample(x, y, channel):
    return (x * 3 + y * 50 + channel * 80) % 256


def pixels(channels):
    return bytes(sample(x, y, c) for y in range(HEIGHT) for x in range(WIDTH) for c in range(channels))


def means(channels):
    def mean(x, y, channel):
        square = [sample(x + i, y + j, channel) for j in range(min(3, HEIGHT - y)) for i in range(min(3, WIDTH - x))]
        return sum(square) // len(square)
    return bytes(mean(x, y, c) for y in range(0, HEIGHT, 3) for x in range(0, WIDTH, 3) for c in range(channels))


def write(path, *parts):
    with open(path, "wb") as file:
        file.writelines(parts)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def files():
    return " ".join(sorted(os.listdir()))


# A worker that opens a pipe waits for its writer: from then on the picture is in work.
def open_pictures(*paths):
    pipes = [open(path, "wb", buffering=0) for path in paths]
    for pipe in pipes:
        pipe.write(header(5, 4, 2) + b"abcd")
    return pipes


# What is left of pictures whose runs were cancelled. One that had not read its first line yet has closed its pipe.
def write_in_vain(pipes):
    for pipe in pipes:
        with contextlib.suppress(BrokenPipeError):
            pipe.write(b"efgh")


def close(pipes):
    for pipe in pipes:
        pipe.close()


print("-- pictures")
write("color.ppm", header(6, WIDTH, HEIGHT), pixels(3))
write("gray.pgm", header(5, WIDTH, HEIGHT), pixels(1))
write("small.pgm", header(5, 4, 2), b"abcdefgh")
write("cut.ppm", header(6, WIDTH, HEIGHT), pixels(3)[:-1])
write("text.ppm", b"hello")
write("wide.pgm", header(5, 20000, 1), bytes(20000))
Program(sys.argv[1], "color.ppm", "gray.pgm", "small.pgm", "cut.ppm", "text.ppm", "wide.pgm", "none.ppm").end()
print(files())
assert read("color.ppm.thumb") == b"P6\n100 3\n255\n" + means(3)
assert read("gray.pgm.thumb") == b"P5\n100 3\n255\n" + means(1)
assert read("small.pgm.thumb") == b"P5\n4 2\n255\nabcdefgh"

os.mkfifo("one")
os.mkfifo("two")

print("-- one picture twice")
program = Program(sys.argv[1], "two", "one", "one")
in_work = open_pictures("two", "one")
os.rename("one", "pipe")
os.rename("small.pgm", "one")  # the third one, while the second one is in work
in_work[0].write(b"efgh")
program.expect("two: done", "one: done")
in_work[1].write(b"efgh")
close(in_work)
program.end()
assert read("one.thumb") == read("small.pgm.thumb")
os.rename("one", "small.pgm")
os.rename("pipe", "one")

print("-- Ctrl-C")
program = Program(sys.argv[1], "one", "two", "gray.pgm")
in_work = open_pictures("one", "two")
program.signal("INT")
program.expect("finishing; once more to stop", "gray.pgm: finished")
for picture in in_work:
    picture.write(b"efgh")
close(in_work)
program.end()
assert read("one.thumb") == read("two.thumb") == read("small.pgm.thumb")

print("-- Ctrl-C twice")
os.remove("one.thumb")
os.remove("two.thumb")
program = Program(sys.argv[1], "one", "two", "gray.pgm")
in_work = open_pictures("one", "two")
program.signal("INT")
program.expect("finishing; once more to stop", "gray.pgm: finished")
program.signal("INT")
program.expect("stopping")
write_in_vain(in_work)
program.end()
close(in_work)
print(files())

print("-- Ctrl-C, and three seconds")
program = Program(sys.argv[1], "one", "two")
in_work = open_pictures("one", "two")
program.signal("TERM")
program.expect("finishing; once more to stop")
program.expect("stopping")
write_in_vain(in_work)
program.end()
close(in_work)
