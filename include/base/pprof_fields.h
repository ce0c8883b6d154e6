/*
 * pprof_fields.h - the fields of a pprof profile, for its reader and writer.
 *
 * Source  proto/profile.proto of https://github.com/google/pprof; fields that
 *         neither of them uses are left out.
 */
#ifndef BASE_PPROF_FIELDS_H
#define BASE_PPROF_FIELDS_H

enum {
    PR_PROFILE_SAMPLE_TYPE = 1, /* ValueType */
    PR_PROFILE_SAMPLE = 2,      /* Sample */
    PR_PROFILE_MAPPING = 3,
    PR_PROFILE_LOCATION = 4,
    PR_PROFILE_FUNCTION = 5,
    PR_PROFILE_STRING = 6,
    PR_PROFILE_TIME_NANOS = 9,
    PR_PROFILE_DURATION_NANOS = 10,
    PR_PROFILE_PERIOD_TYPE = 11, /* ValueType */
    PR_PROFILE_PERIOD = 12,
    PR_PROFILE_COMMENT = 13,
    PR_PROFILE_DEFAULT_SAMPLE_TYPE = 14,
    PR_PROFILE_FIELD_MAX = 15 /* doc_url */
};

enum { PR_VALUE_TYPE = 1, PR_VALUE_UNIT = 2 };

enum { PR_SAMPLE_LOCATION = 1, PR_SAMPLE_VALUE = 2, PR_SAMPLE_LABEL = 3 };

enum { PR_LABEL_KEY = 1, PR_LABEL_STR = 2, PR_LABEL_NUM = 3 };

enum {
    PR_MAPPING_ID = 1,
    PR_MAPPING_FILENAME = 5,
    PR_MAPPING_HAS_FUNCTIONS = 7,
    PR_MAPPING_HAS_FILENAMES = 8,
    PR_MAPPING_HAS_LINES = 9,
    PR_MAPPING_HAS_INLINES = 10
};

enum {
    PR_LOCATION_ID = 1,
    PR_LOCATION_MAPPING = 2,
    PR_LOCATION_ADDRESS = 3,
    PR_LOCATION_LINE = 4 /* Line */
};

enum { PR_LINE_FUNCTION = 1, PR_LINE_LINE = 2, PR_LINE_COLUMN = 3 };

enum {
    PR_FUNCTION_ID = 1,
    PR_FUNCTION_NAME = 2,
    PR_FUNCTION_SYSTEM_NAME = 3,
    PR_FUNCTION_FILENAME = 4,
    PR_FUNCTION_START_LINE = 5
};

#endif
