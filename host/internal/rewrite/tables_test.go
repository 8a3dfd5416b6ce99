package rewrite

import (
	"testing"

	"github.com/wasmagent/wasmagent/host/hosttest/asm"
)

// TestTablesShare: all tables together grow to Limits.TableElements, each to an equal part of it.
func TestTablesShare(t *testing.T) {
	const tables = 4
	const share = DefaultTableElements / tables
	m := asm.New()
	m.ImportFunc("env", "f", "")
	for range tables {
		m.Table("externref", 1)
	}
	for table := range uint32(tables) {
		m.Export(string('a'+rune(table)), m.Func("i32", "", asm.RefNull("externref"), asm.LocalGet(0),
			asm.TableGrow(table), asm.I32Const(1), asm.Op(opI32Ne), asm.If(asm.Unreachable)))
	}
	for _, engine := range engines {
		for table := range tables {
			export := string('a' + rune(table))
			for _, c := range []struct {
				more uint64
				fits bool
			}{{share - 1, true}, {share, false}} {
				mod, h := loadWithEnv(t, engine.config, m.Bytes(), tickOften)
				_, err := mod.ExportedFunction(export).Call(h.ctx, c.more)
				if (err == nil) != c.fits {
					t.Errorf("%s, table %s by %d: %v", engine.name, export, c.more, err)
				}
			}
		}
	}
}
