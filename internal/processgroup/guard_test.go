//go:build unix

package processgroup_test

import (
	"io"
	"os"
	"os/exec"
	"testing"

	"minikcm.dev/minikcm/internal/processgroup"
)

const starter = "PROCESSGROUP_TEST_STARTER"

func TestMain(m *testing.M) {
	if os.Getenv(starter) != "" {
		cmd := exec.Command("sh", "-c", "sleep 600; true") // a leader with a child
		cmd.Stdout = os.Stdout
		processgroup.Lead(cmd)
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		if _, err := processgroup.Guard(cmd.Process.Pid); err != nil {
			panic(err)
		}
		_, _ = os.Stderr.WriteString("started\n") // the test reads it
		_ = cmd.Wait()                            // the test ends it
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// A program that is killed takes along what it guards, with its children.
func TestGuard(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), starter+"=1")
	held, err := cmd.StdoutPipe() // open in the starter and in its child
	if err != nil {
		t.Fatal(err)
	}
	started, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := started.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(held); err != nil { // until its children have ended, too
		t.Error(err)
	}
	_ = cmd.Wait() // it was killed
}
