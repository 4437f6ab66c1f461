//go:build unix

package scenarios

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"minikcm.dev/minikcm/clock"
)

// Child processes of a scenario's programs end with the run at the latest, whether the run ended
// the program or the program left them behind.
func TestProgramsEndWithRun(t *testing.T) {
	t.Parallel()
	// Every child inherits the open pipe, which shows when the last one has ended.
	const hold = `exec 3> "$PIPE"; echo up >&3; `
	for name, steps := range map[string]string{
		"ended by a failure": `
    - background: true
      script: {run: 'HOLD sleep 300 & touch "$READY"; wait', env: ENV}
    - script: {run: 'until [ -e "$READY" ]; do :; done', env: ENV}
    - expect: {counts: [{target: pods, equals: 7}]}`,
		"deaf to SIGTERM": `
    - background: true
      script: {run: 'trap "" TERM; HOLD touch "$READY"; while :; do sleep 300 || :; done', env: ENV}
    - script: {run: 'until [ -e "$READY" ]; do :; done', env: ENV}
    - expect: {counts: [{target: pods, equals: 7}]}`,
		"left behind": `
    - script: {run: 'HOLD sleep 300 >/dev/null 2>&1 &', env: ENV}
    - script: {run: 'true'}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			pipe := filepath.Join(dir, "pipe")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			reader, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Close()
			env := "{PIPE: " + strconv.Quote(pipe) + ", READY: " + strconv.Quote(filepath.Join(dir, "ready")) + "}"
			text := header + "  cluster: {nodes: 1}\n  steps:" + strings.NewReplacer("HOLD ", hold, "ENV", env).Replace(steps)
			_, tr := runScenario(t, text, Options{})
			if err := reader.SetReadDeadline(clock.Real().Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(reader); err != nil || string(got) != "up\n" {
				t.Errorf("reading what the programs hold open: %q, %v\n%s", got, err, tr)
			}
		})
	}
}
