/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/errno.h"

#include <errno.h>

#include "support/harness.h"

TEST(errors, "each error has its status")
{
    static const struct {
        int error;
        enum weir_status status;
    } rows[] = {{0, WEIR_OK},           {ENOENT, WEIR_ENOTFOUND},    {ENOTDIR, WEIR_ENOTFOUND},
                {EACCES, WEIR_EACCESS}, {EROFS, WEIR_EACCESS},       {ELOOP, WEIR_EACCESS},
                {EMLINK, WEIR_EACCESS}, {ENOSPC, WEIR_ENOSPACE},     {EDQUOT, WEIR_ENOSPACE},
                {ENOMEM, WEIR_ENOMEM},  {ENAMETOOLONG, WEIR_EINVAL}, {ENOTSUP, WEIR_ENOTSUP},
                {EIO, WEIR_EIO},        {EMFILE, WEIR_EIO}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CHECK_STATUS(weiri_errno_status(rows[i].error), rows[i].status);
    }
}
