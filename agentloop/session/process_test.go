package session

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// childEnv names the folder in which this binary, run again, writes a session until it is killed.
const childEnv = "WASMAGENT_TEST_SESSIONS"

func TestMain(m *testing.M) {
	if folder := os.Getenv(childEnv); folder != "" {
		fmt.Fprintln(os.Stderr, writeForEver(folder))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// writeForEver tells on stdout how many messages are stored.
func writeForEver(folder string) error {
	d, err := OpenDir(folder, nil)
	if err != nil {
		return err
	}
	s, err := d.Resume("s")
	if err != nil {
		return err
	}
	for n := len(s.Messages()); ; {
		list := []message.Message{numbered(n), calls("a"), answer("a")}
		if err := s.Append(context.Background(), list...); err != nil {
			return err
		}
		n += len(list)
		if _, err := fmt.Println(n); err != nil {
			return err
		}
	}
}

func numbered(n int) message.Message {
	return said(fmt.Sprint(n, " ", strings.Repeat("x", 10_000)))
}

type child struct {
	cmd *exec.Cmd
	out *bufio.Scanner
}

func startChild(t *testing.T, d *Dir) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+d.folder)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{cmd, bufio.NewScanner(pipe)}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return c
}

// stored waits until the child says that it has stored more.
func (c *child) stored(t *testing.T) (n int) {
	t.Helper()
	if !c.out.Scan() {
		t.Fatal("the child has ended")
	}
	if _, err := fmt.Sscan(c.out.Text(), &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// kill ends the child at whatever it does, and gives the last number that it told.
func (c *child) kill(t *testing.T, last int) int {
	t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for c.out.Scan() { // the last number may be cut, and so smaller
		if n, err := strconv.Atoi(c.out.Text()); err == nil {
			last = max(last, n)
		}
	}
	if err := c.cmd.Wait(); err == nil {
		t.Fatal("the child was not killed")
	}
	return last
}

// Whatever was stored when a process was killed is there, in order, and the session can be gone on
// with at once: the lock went with the process.
func TestKilledBetweenAppends(t *testing.T) {
	d := openDir(t)
	if err := create(t, d, "s").Close(); err != nil {
		t.Fatal(err)
	}
	for round := range 5 {
		c := startChild(t, d)
		n := 0
		for range round*3 + 1 {
			n = c.stored(t)
		}
		n = c.kill(t, n)
		got := mustRead(t, d, "s")
		if len(got.Messages) < n {
			t.Fatalf("%d messages are left of %d that were stored", len(got.Messages), n)
		}
		if err := message.Check(got.Messages); err != nil {
			t.Fatal(err)
		}
		for i, m := range got.Messages {
			if m.Role == message.User && m.Text != numbered(i).Text {
				t.Fatalf("message %d is %.20q", i, m.Text)
			}
		}
		if err := mustResume(t, d, "s").Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTwoProcesses(t *testing.T) {
	d := openDir(t)
	if err := create(t, d, "s").Close(); err != nil {
		t.Fatal(err)
	}
	c := startChild(t, d)
	n := c.stored(t)
	for _, second := range []func() error{
		func() error { _, err := d.Resume("s"); return err },
		func() error { return d.SetArchived("s", true) },
	} {
		if busy := new(BusyError); !errors.As(second(), &busy) || busy.File != d.path("s.lock") {
			t.Errorf("have %v", second())
		}
	}
	if got := mustRead(t, d, "s"); len(got.Messages) < n {
		t.Errorf("%d messages can be read of %d", len(got.Messages), n)
	}
	c.kill(t, n)
	if err := mustResume(t, d, "s").Close(); err != nil {
		t.Error(err)
	}
}
