package conform_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/conform"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func check(t *testing.T, p hosttest.Plugin, o *conform.Options) *conform.Report {
	t.Helper()
	p.Name = "t"
	report, err := conform.Check(t.Context(), hosttest.Engine(t), p.Bytes(), o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// Each fault is found, and said once.
func TestFindings(t *testing.T) {
	seen := func(body hosttest.Body) hosttest.Body { // a random byte first
		return func(k *hosttest.Kit) asm.Instr {
			return asm.I32Const(hosttest.Scratch) + asm.I32Const(1) + asm.Call(k.Random) + asm.Drop + body(k)
		}
	}
	for _, c := range []struct {
		name   string
		plugin hosttest.Plugin
		want   []string
	}{
		{"good", hosttest.Plugin{}, nil},
		{"no tools", hosttest.Plugin{Tools: []abi.ToolSpec{}}, []string{"error manifest: tools: "}},
		{"no memory to begin with", hosttest.Plugin{Pages: 4096},
			[]string{"error contract: its memory begins with 256 MiB"}},
		{"warmup traps", hosttest.Plugin{Warmup: hosttest.Trap},
			[]string{`error warmup: trapped: unreachable in function "wasmagent_warmup"`}},
		{"random manifest", hosttest.Plugin{Describe: randomManifest},
			[]string{"error describe: the manifest is another"}},
		{"cannot be restored", hosttest.Plugin{Call: func(k *hosttest.Kit) asm.Instr {
			table := uint32(k.Module.Table("externref", 1, 8))
			return asm.RefNull("externref") + asm.I32Const(1) + asm.TableGrow(table) + asm.Drop +
				hosttest.Echo(k)
		}}, []string{"warning road: every call takes a new instance"}},
		{"silent", hosttest.Plugin{Call: hosttest.Silent},
			[]string{"error tool t: a call breaks the contract: returned without a reply"}},
		{"traps", hosttest.Plugin{Call: seen(hosttest.Trap)},
			[]string{"warning tool t: a call did not reply: trapped: unreachable"}},
		{"not msgpack", hosttest.Plugin{Call: hosttest.Reply([]byte{0xc1})},
			[]string{"error tool t: its reply cannot be read"}},
		{"not an envelope", hosttest.Plugin{Call: hosttest.Reply([]byte{0x80})},
			[]string{"error tool t: its reply cannot be read"}},
		{"reads requests by position", hosttest.Plugin{Call: byPosition},
			[]string{"error tool t: a request with keys that it does not know"}},
		{"gives up with a trap", hosttest.Plugin{Call: hosttest.Then(func(k *hosttest.Kit) asm.Instr {
			return asm.Call(k.Cancelled) + asm.If(asm.Unreachable)
		}, hosttest.Echo)}, []string{"error tool t: a cancelled call ended with trapped: unreachable"}},
		{"gives up with a reply", hosttest.Plugin{Call: hosttest.Then(func(k *hosttest.Kit) asm.Instr {
			return asm.Call(k.Cancelled) + asm.If(hosttest.OK(k), asm.Return)
		}, hosttest.Echo)}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			report := check(t, c.plugin, nil)
			var got []string
			for _, f := range report.Findings {
				got = append(got, string(f.Level)+" "+f.Where+": "+f.Text)
			}
			if len(got) != len(c.want) {
				t.Fatalf("found %q, want %q", got, c.want)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], c.want[i]) {
					t.Errorf("found %q, want %q", got[i], c.want[i])
				}
			}
		})
	}
}

// randomManifest pushes a manifest with a random letter in its version.
func randomManifest(k *hosttest.Kit) asm.Instr {
	manifest := abi.AppendManifest(nil, &abi.Manifest{Name: "t", Version: "v?", ABI: 1,
		Tools: []abi.ToolSpec{{Name: "t"}}})
	at := int32(strings.Index(string(manifest), "v?")) + 1
	const here = 16 // where the kit puts its first constant
	push := k.Bytes(manifest)
	letter := asm.I32Const(here+at) + asm.I32Const(hosttest.Scratch) + asm.I32Load8U(0) +
		asm.I32Const(25) + asm.I32And + asm.I32Const('a') + asm.I32Add + asm.I32Store8(0)
	return asm.I32Const(hosttest.Scratch) + asm.I32Const(1) + asm.Call(k.Random) + asm.Drop +
		letter + push + asm.Call(k.Output)
}

// byPosition replies false unless the request's first key is the one that it is today.
func byPosition(k *hosttest.Kit) asm.Instr {
	no := hosttest.Reply(abi.AppendReply(nil, &abi.Reply{Outcome: abi.OutcomeOK, Value: abi.Raw{0xc2}}))(k)
	const firstKey = 40<<10 + 2 // behind the map's head and the key's length
	return hosttest.ReadRequest(k) + asm.I32Const(firstKey) + asm.I32Load8U(0) + asm.I32Const('v') +
		asm.I32Ne + asm.IfElse(no, hosttest.Echo(k))
}

// What needs a grant is described, and not called.
func TestMissing(t *testing.T) {
	report := check(t, hosttest.Plugin{Needs: abi.Needs{KV: &abi.KVNeed{}}, Call: hosttest.Trap}, nil)
	if len(report.Findings) != 0 || !slices.Equal(report.Missing, []string{"kv"}) || !report.Described {
		t.Errorf("%+v", report)
	}
}

// A tool that never ends is said to, and no more time than its limit is spent on it.
func TestEndless(t *testing.T) {
	report := check(t, hosttest.Plugin{Call: hosttest.Loop},
		&conform.Options{Limits: host.Limits{Time: 50_000_000}})
	if len(report.Findings) != 1 || !strings.Contains(report.Findings[0].Text, "limits.time") {
		t.Errorf("%+v", report.Findings)
	}
}

// The arguments are the caller's to choose.
func TestInput(t *testing.T) {
	bad := abi.Raw(abi.AppendString(nil, hosttest.Bad))
	report := check(t, hosttest.Plugin{Call: hosttest.OnBad(hosttest.Trap)},
		&conform.Options{Input: func(abi.ToolSpec) abi.Raw { return bad }})
	if len(report.Findings) != 1 || !report.Described || report.Manifest.Name != "t" {
		t.Errorf("%+v", report)
	}
	report = check(t, hosttest.Plugin{Call: hosttest.Trap}, &conform.Options{NoCalls: true})
	if len(report.Findings) != 0 || !report.Described {
		t.Errorf("called nevertheless: %+v", report)
	}
}

// Whose fault a check's end is: the caller's when the caller gives up, the engine's when it is
// closed.
func TestNotThePluginsFault(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wasm := hosttest.Plugin{Name: "t", Initialize: hosttest.Loop}.Bytes()
	if _, err := conform.Check(ctx, hosttest.Engine(t), wasm, nil); err == nil {
		t.Error("no error when the caller gave up")
	}
	e := hosttest.Engine(t)
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := conform.Check(t.Context(), e, wasm, nil); err != host.ErrClosed {
		t.Errorf("closed engine: %v", err)
	}
}

// Nothing that is hostile ends a check otherwise than with findings.
func TestHostile(t *testing.T) {
	e := hosttest.Engine(t)
	for c := range hosttest.Hostile() {
		limits := c.Policy.Limits
		limits.Time, limits.Load = 20_000_000, 20_000_000
		bad := abi.Raw(abi.AppendString(nil, hosttest.Bad))
		report, err := conform.Check(t.Context(), e, c.Wasm, &conform.Options{Limits: limits,
			Input: func(abi.ToolSpec) abi.Raw { return bad }})
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
		if len(report.Findings)+len(report.Missing) == 0 && (c.Stage != "" || c.Cause != "") {
			t.Errorf("%s: nothing was found", c.Name)
		}
	}
}
