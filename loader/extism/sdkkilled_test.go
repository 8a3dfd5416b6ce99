package extism_test

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/loader"
)

// A process that somebody ends while it idles is nobody's failure.
func TestSDKEngineKilledWhileIdle(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("this system does not show which processes have ended")
	}
	dir := openIn(t, echo(), loader.Decision{Engine: "extism-sdk"}, "run")
	for range 3 {
		for _, pid := range sdkProcesses(t) {
			kill(t, pid)
		}
		if out, err := ask(t.Context(), dir, "run", "x"); err != nil || out != `"x"` {
			t.Errorf("%s, %v", out, err)
		}
	}
}

// kill ends a process, and returns when all of its threads have ended.
func kill(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.FindProcess(n)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	for t.Context().Err() == nil {
		threads, _ := os.ReadDir("/proc/" + pid + "/task")
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		_, state, _ := strings.Cut(string(stat), ") ")
		if err != nil || strings.HasPrefix(state, "Z") && len(threads) == 1 {
			return
		}
		runtime.Gosched()
	}
}
