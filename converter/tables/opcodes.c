/*
 * opcodes.c - opcode: the names of the instructions that frames have.
 */
#include "converter/tables/entry.h"

#include "converter/tables/row.h"

#include <base/opcode_names.h>
#include <stdio.h>

static pr_code
put_opcode(conv_row *row, const char *python, uint32_t number, const char *name,
           pr_err *err)
{
    conv_row_string(row, python);
    conv_row_integer(row, number);
    conv_row_string(row, name);
    return conv_row_put(row, err);
}

/* Each number once; a database may have the names of another profile. */
static pr_code
put_all(const conv_entry *e, conv_row *row, const char *python, pr_err *err)
{
    bool seen[PR_NO_OPCODE] = {false};
    pr_code rc = PR_OK;
    for (uint32_t i = 0; i < e->model->frames.n && rc == PR_OK; i++) {
        uint32_t number = conv_model_frame(e->model, i)->opcode;
        if (number >= PR_NO_OPCODE || seen[number])
            continue;
        seen[number] = true;
        const char *name =
            pr_opcode_name(e->model->start.python[1], (uint8_t)number);
        if (name)
            rc = put_opcode(row, python, number, name, err);
    }
    return rc;
}

pr_code
conv_entry_put_opcodes(conv_entry *e, pr_err *err)
{
    const uint8_t *version = e->model->start.python;
    conv_row row;
    char python[16];
    if (version[0] != 3)
        return PR_OK;
    snprintf(python, sizeof python, "%d.%d", version[0], version[1]);
    pr_code rc =
        conv_row_open_or_replace(&row, e->tables->database, "opcode", 3, err);
    if (rc == PR_OK)
        rc = put_all(e, &row, python, err);
    conv_row_close(&row);
    return rc;
}
