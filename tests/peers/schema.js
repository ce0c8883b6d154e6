// schema.js SCHEMA FILE: is the JSON file valid?  Says what is wrong.
const fs = require("fs");
const Ajv = require("ajv");

const [schema, file] = process.argv.slice(2).map(
    (path) => JSON.parse(fs.readFileSync(path, "utf8")));
const validate = new Ajv({ strict: false, allErrors: false }).compile(schema);
if (!validate(file)) {
    console.error(JSON.stringify(validate.errors, null, 1));
    process.exit(1);
}
