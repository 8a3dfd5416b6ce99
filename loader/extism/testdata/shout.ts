// A plugin in AssemblyScript, with Extism's kit for it: it writes a text in capitals.
import { Host, Config } from "@extism/as-pdk";

function onAbort(message: string | null, file: string | null, line: u32, column: u32): void {}

export function shout(): i32 {
	const mark = Config.get("mark");
	Host.outputString(Host.inputString().toUpperCase() + (mark === null ? "!" : mark));
	return 0;
}
