package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// rewriter is where metering is measured: its package cannot be imported from here.
const rewriter = "host/internal/rewrite"

// meteredJob is one line of the rewriter's benchmark.
type meteredJob struct {
	guest, job           string
	plain, metered, fold float64 // µs, µs, and the ratio
}

// meteredLimits say how much slower metered guests may be, by how they were compiled. The assembled
// loops are as tight as no compiler's and have no gate.
var meteredLimits = map[string]float64{"tiny": 1.2, "go": 1.35}

// benchMetering runs the rewriter's own benchmark and judges the worst job of each guest.
func benchMetering(ctx context.Context, o options, out io.Writer) ([]gate, error) {
	root := ".."
	if _, err := os.Stat(filepath.Join(root, rewriter)); errors.Is(err, os.ErrNotExist) {
		fmt.Fprintf(out, "## Metering\n\nnot measured: there is no %s\n\n", rewriter)
		return nil, nil
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-run=^$", "-bench=^BenchmarkMetering$",
		"-benchtime="+pick(o.quick, "1x", "15x"), "./"+rewriter)
	cmd.Dir = root
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%w\n%s%s", err, stdout.Bytes(), stderr.Bytes())
	}
	jobs := parseMetering(&stdout)
	if len(jobs) == 0 {
		return nil, fmt.Errorf("no figures in what the benchmark of %s printed", rewriter)
	}
	fmt.Fprint(out, "## Metered against unmetered compute (CPU, µs)\n\n")
	t := newTable("guest, job", "unmetered", "metered", "ratio")
	for _, j := range jobs {
		t.add(j.guest+", "+j.job, fmt.Sprintf("%.0f", j.plain), fmt.Sprintf("%.0f", j.metered),
			fmt.Sprintf("%.2f×", j.fold))
	}
	t.print(out)
	return meteringGates(jobs), nil
}

func meteringGates(jobs []meteredJob) (gates []gate) {
	for _, guest := range []string{"tiny", "go"} {
		var worst meteredJob
		for _, j := range jobs {
			if j.guest == guest && j.fold > worst.fold {
				worst = j
			}
		}
		limit := meteredLimits[guest]
		gates = append(gates, gate{
			name:     fmt.Sprintf("unmetered compute: %s, the worst of it (%s)", guest, worst.job),
			measured: times(worst.fold), limit: fmt.Sprintf("≤ %g×", limit),
			held: worst.fold > 0 && worst.fold <= limit})
	}
	return gates
}

// parseMetering reads lines such as
//
//	BenchmarkMetering/go/sum-2  15  91 ns/op  3.1 metered-µs  3.0 plain-µs  1.02 ratio
func parseMetering(r io.Reader) (jobs []meteredJob) {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) == 0 {
			continue
		}
		path := strings.Split(words[0], "/")
		if len(path) != 3 || path[0] != "BenchmarkMetering" {
			continue
		}
		j := meteredJob{guest: path[1], job: path[2]}
		if at := strings.LastIndexByte(j.job, '-'); at > 0 {
			j.job = j.job[:at] // without the number of processors
		}
		for i, unit := range words[1:] {
			value, _ := strconv.ParseFloat(words[i], 64)
			switch unit {
			case "plain-µs":
				j.plain = value
			case "metered-µs":
				j.metered = value
			case "ratio":
				j.fold = value
			}
		}
		if j.fold > 0 {
			jobs = append(jobs, j)
		}
	}
	return jobs
}
