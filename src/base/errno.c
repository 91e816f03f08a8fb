/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/errno.h"

#include <errno.h>

enum weir_status weiri_errno_status(int error)
{
    switch (error) {
    case 0:
        return WEIR_OK;
    case ENOENT:
    case ENOTDIR:
        return WEIR_ENOTFOUND;
    case EACCES:
    case EPERM:
    case EROFS:
    case ELOOP:
    case EMLINK:
        return WEIR_EACCESS;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return WEIR_ENOSPACE;
    case ENOMEM:
        return WEIR_ENOMEM;
    case ENAMETOOLONG:
        return WEIR_EINVAL;
    case ENOTSUP:
        return WEIR_ENOTSUP;
    default:
        return WEIR_EIO;
    }
}
