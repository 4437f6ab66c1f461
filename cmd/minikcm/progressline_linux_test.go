package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// openTerminal returns a terminal, and what is printed on it.
func openTerminal(t *testing.T) (terminal, printed *os.File) {
	t.Helper()
	printed, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminal can be made here: %v", err)
	}
	t.Cleanup(func() { _ = printed.Close() })
	var number, unlocked int32
	for request, value := range map[uintptr]*int32{syscall.TIOCSPTLCK: &unlocked, syscall.TIOCGPTN: &number} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, printed.Fd(), request, uintptr(unsafe.Pointer(value))); errno != 0 {
			t.Fatal(errno)
		}
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	return terminal, printed
}

// TestProgressOfQuestions asks about a dump on standard input that does not come before the progress is
// shown.
func TestProgressOfQuestions(t *testing.T) {
	t.Parallel()
	dump, err := os.ReadFile(dumpFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"whatif drain worker-1", "fit shop/deployment/web --limit 2"} {
		terminal, printed := openTerminal(t)
		cmd := exec.CommandContext(t.Context(), self(t), append(strings.Fields(line), "--from-objects", "-")...)
		cmd.Env, cmd.Stderr = append(os.Environ(), asCommand+"=run", "HOME="+t.TempDir()), terminal
		var out strings.Builder
		cmd.Stdout = &out
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		text, err := bufio.NewReader(printed).ReadString(')')
		if want := rewind + "Reading the state of the cluster (1s)"; err != nil || text != want {
			t.Errorf("%s shows %q (%v), want %q", line, text, err, want)
		}
		if _, err := in.Write(dump); err != nil {
			t.Error(err)
		}
		_ = in.Close()
		_ = cmd.Wait() // the answer may be no
		if !strings.Contains(out.String(), "NODES") {
			t.Errorf("%s answers %q", line, out.String())
		}
	}
}

// TestReports reads the reports of a process in the background.
func TestReports(t *testing.T) {
	t.Parallel()
	var progress []string
	last := readReports(strings.NewReader(`{"Progress":"a"}{"Progress":"b"}{"Out":"export","Err":"ready"}`), func(text string) { progress = append(progress, text) })
	if last == nil || last.Out != "export" || strings.Join(progress, " ") != "a b" {
		t.Errorf("the last report is %+v after %q", last, progress)
	}
	if last := readReports(strings.NewReader(`{"Progress":"a"}`), func(string) {}); last != nil {
		t.Errorf("the last report of a process that has failed is %+v", last)
	}
}

// TestRepeat shows the progress at once if the command has begun a second ago, and hides it at the end.
func TestRepeat(t *testing.T) {
	t.Parallel()
	p := &starting{doing: "Starting"}
	p.count(2, 300)
	shown, hidden := make(chan string, 1), false
	end := repeat(t.Context(), func() time.Duration { return 2 * progressAfter }, p.text, func(line string) {
		select {
		case shown <- line:
		default:
		}
	}, func() { hidden = true })
	if line := <-shown; line != "Starting: 2 of 300 nodes are ready (2s)" {
		t.Errorf("shown is %q", line)
	}
	end()
	if !hidden {
		t.Error("the progress is still shown")
	}
	if text := followed(90*time.Second, 3*time.Second); text != "Following the fork: 1m30s of its time have passed (3s)" {
		t.Error(text)
	}
	if end := showProgress(context.Background(), io.Discard, doing("nothing")); end == nil {
		t.Error("there is no end")
	}
}
