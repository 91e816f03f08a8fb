/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_JOBS_H
#define WEIR_JOBS_H

/** @file
 * Everything of libweir-jobs: durable delayed jobs. */

#include <weir/admin.h>
#include <weir/broker.h>
#include <weir/consumer.h>
#include <weir/feature.h>
#include <weir/job.h>
#include <weir/job_schedule.h>
#include <weir/policy.h>
#include <weir/producer.h>
#include <weir/transaction.h>

#endif
