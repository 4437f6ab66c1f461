//go:build unix

package bench

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"minikcm.dev/minikcm/clock"
)

// up is a running "minikcm up".
type up struct {
	cmd        *exec.Cmd
	kubeconfig string
	// ready is the time from the start of the process until it printed the kubeconfig line,
	// which it does when its nodes are Ready.
	ready time.Duration
}

func startUp(b *testing.B, args ...string) *up {
	b.Helper()
	path, err := binary()
	if err != nil {
		b.Fatal(err)
	}
	kubeconfig := filepath.Join(b.TempDir(), "kubeconfig")
	cmd := exec.Command(path, append([]string{"up", "--kubeconfig", kubeconfig}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	elapsed := clock.Stopwatch()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	ready := elapsed()
	if err != nil || !strings.HasPrefix(line, "export KUBECONFIG=") {
		b.Fatalf("minikcm up printed %q: %v", line, err)
	}
	return &up{cmd: cmd, kubeconfig: kubeconfig, ready: ready}
}

func (u *up) stop(b *testing.B) {
	b.Helper()
	if err := u.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		b.Fatal(err)
	}
	if err := u.cmd.Wait(); err != nil {
		b.Fatalf("minikcm up ended with %v", err)
	}
}

// BenchmarkStart measures the time from the start of the process until three nodes are Ready
// and the default service account exists.
func BenchmarkStart(b *testing.B) {
	if _, err := binary(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		u := startUp(b, "--nodes", "3")
		measured.add("process start to three nodes Ready", "ms", float64(u.ready.Microseconds())/1000)
		u.stop(b)
	}
}

var residentPattern = regexp.MustCompile(`(?m)^VmRSS:\s+(\d+) kB$`)

// idleTime is how long a cluster idles before its memory is measured.
const idleTime = 5 * time.Second

// BenchmarkIdleMemory measures the resident memory of a process with three idle nodes.
func BenchmarkIdleMemory(b *testing.B) {
	if _, err := binary(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		u := startUp(b, "--nodes", "3")
		<-clock.Real().After(idleTime)
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", u.cmd.Process.Pid))
		if err != nil {
			b.Skipf("reading the memory of a process: %v", err)
		}
		match := residentPattern.FindSubmatch(status)
		if match == nil {
			b.Fatalf("no VmRSS in %s", status)
		}
		kilobytes, err := strconv.Atoi(string(match[1]))
		if err != nil {
			b.Fatal(err)
		}
		measured.add("resident memory, idle, three nodes", "MB", float64(kilobytes)/1000)
		u.stop(b)
	}
}
