package main

import (
	"fmt"
	"io"
	"path/filepath"
	"sync"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// meter shows how work goes on: as bars on a terminal, elsewhere as a line for each thing that is
// finished.
type meter struct {
	w    io.Writer
	bars *mpb.Progress // nil without a terminal

	mu    sync.Mutex // also of lines, one at a time
	stage map[string]*stageBar
}

// stageBar is the bar of one stage.
type stageBar struct {
	bar  *mpb.Bar
	mu   sync.Mutex
	name string // what the stage is at
}

const (
	barWidth  = 40 // characters
	nameWidth = 10 // characters of a stage's name
)

func newMeter(w io.Writer) *meter {
	m := &meter{w: w, stage: map[string]*stageBar{}}
	if isTerminal(w) {
		m.bars = mpb.New(mpb.WithOutput(w), mpb.WithWidth(barWidth))
	}
	return m
}

// step tells that a stage has come to name, one of total. Small steps show on a terminal only.
func (m *meter) step(stage, name string, total int, small bool) {
	name = filepath.Base(name)
	if m.bars == nil {
		if !small {
			m.mu.Lock()
			defer m.mu.Unlock()
			fmt.Fprintf(m.w, "%s %s\n", stage, visible(name))
		}
		return
	}
	b := m.open(stage, total)
	b.mu.Lock()
	b.name = visible(name)
	b.mu.Unlock()
	b.bar.Increment()
}

func (m *meter) open(stage string, total int) *stageBar {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b, ok := m.stage[stage]; ok {
		return b
	}
	b := &stageBar{}
	b.bar = m.bars.AddBar(int64(total),
		mpb.PrependDecorators(
			decor.Name(stage, decor.WC{W: nameWidth, C: decor.DindentRight}),
			decor.CountersNoUnit(" %d/%d ")),
		mpb.AppendDecorators(decor.OnComplete(decor.Any(b.at), "")))
	m.stage[stage] = b
	return b
}

// at gives what the stage is at.
func (b *stageBar) at(decor.Statistics) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.name
}

// begin shows a stage before its first step is done.
func (m *meter) begin(stage string, total int) {
	if m.bars != nil {
		m.open(stage, total)
	}
}

// close ends the bars, those of unfinished stages too.
func (m *meter) close() {
	if m.bars == nil {
		return
	}
	for _, b := range m.stage {
		b.bar.Abort(false)
	}
	m.bars.Wait()
}
