//go:build linux

package powercut

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is far more than a process takes to notice that its disk has failed.
const patience = time.Minute

// After an error of the disk, the process ends with a reason that names it; none of the writes
// that it acknowledged, before or after the error, is missing when it is started again. Writes
// that are shorter than requested are no error.
func TestFailingDisk(t *testing.T) {
	requireFUSE(t)
	binary := build(t)
	for name, f := range map[string]fault{
		"fsync of the log":         {operation: fsync, file: ".wal"},
		"fsync of the database":    {operation: fsync, file: "db"},
		"write to the log":         {operation: write, file: ".wal"},
		"write to the database":    {operation: write, file: "db"},
		"short writes to the log":  {operation: shortWrite, file: ".wal", always: true},
		"short writes to database": {operation: shortWrite, file: "db", always: true},
	} {
		t.Run(name, func(t *testing.T) { failOnce(t, binary, f) })
	}
}

// failOnce runs minikcm on a disk that fails while clients write.
func failOnce(t *testing.T, binary string, f fault) {
	backing, point := directories(t)
	disk, err := mount(backing, point)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = disk.server.Unmount() }) // after a failure
	p := up(t, binary, filepath.Join(point, "data"))
	a := &acknowledged{revisions: map[string]string{}}
	var writing sync.WaitGroup
	begin := func(name string, writes int) {
		a.mu.Lock()
		a.wanted, a.enough = writes, make(chan struct{})
		a.mu.Unlock()
		for i := range writers {
			writing.Go(func() { a.write(t.Context(), p.client, fmt.Sprintf("%s-%d", name, i)) })
		}
	}
	begin("w", 100)
	<-a.enough
	disk.faults.arm(f)
	if f.always {
		begin("more", 500)
		<-a.enough
		p.end(t)
	} else {
		ends(t, p)
	}
	disk.journal.powerOff()
	writing.Wait()
	if err := disk.unmount(nil); err != nil {
		t.Fatal(err)
	}
	if n := disk.faults.count(); n == 0 {
		t.Error("no operation was affected")
	}
	again := up(t, binary, filepath.Join(backing, "data"))
	a.verify(t, again.client)
	again.end(t)
	t.Logf("%d acknowledged writes, %d operations affected, %s", a.total, disk.faults.count(), lastLine(p.stderr.String()))
}

// ends waits for the end of a process whose disk has failed, and looks at what it said.
func ends(t *testing.T, p *process) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the process ended with exit code 0")
		}
	case <-ctx.Done():
		_ = p.Process.Kill()
		<-ended
		t.Errorf("the process runs on %v after its disk has failed: %s", patience, p.stderr)
	}
	said := p.stderr.String()
	if !strings.Contains(said, "input/output error") {
		t.Errorf("the reason does not name the error: %s", said)
	}
	if strings.Contains(said, "goroutine ") {
		t.Errorf("the process panicked: %s", said)
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
