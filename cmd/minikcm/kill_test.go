package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// kill ends the process with SIGKILL, as a crash would.
func (p *process) kill() {
	p.t.Helper()
	if err := p.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	if code, _ := p.end(); code != 137 {
		p.t.Errorf("after SIGKILL it ends with %d: %s", code, p.stderr.String())
	}
}

// ledger records the acknowledged writes: the last revision of each object.
type ledger struct {
	mu        sync.Mutex
	revisions map[string]int64
	newest    int64
	// enough is closed once the wanted number of further writes is acknowledged.
	wanted int
	enough chan struct{}
}

func (l *ledger) note(name, revision string) error {
	n, err := strconv.ParseInt(revision, 10, 64)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.revisions[name] = n
	l.newest = max(l.newest, n)
	if l.wanted--; l.wanted == 0 {
		close(l.enough)
	}
	return nil
}

// write creates objects and updates some of them until the cluster is gone.
func (l *ledger) write(ctx context.Context, client kubernetes.Interface, prefix string) error {
	maps := client.CoreV1().ConfigMaps("default")
	for i := 0; ; i++ {
		created, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", prefix, i)}}, metav1.CreateOptions{})
		if err != nil {
			return nil // the cluster is gone
		}
		if err := l.note(created.Name, created.ResourceVersion); err != nil {
			return err
		}
		if i%3 != 0 {
			continue
		}
		created.Data = map[string]string{"changed": "yes"}
		updated, err := maps.Update(ctx, created, metav1.UpdateOptions{})
		if err != nil {
			// The write failed for the client but may have been stored.
			l.mu.Lock()
			delete(l.revisions, created.Name)
			l.mu.Unlock()
			return nil
		}
		if err := l.note(updated.Name, updated.ResourceVersion); err != nil {
			return err
		}
	}
}

// TestKill kills a process repeatedly while several clients write. All acknowledged writes
// are present after each restart, and revisions continue to increase.
func TestKill(t *testing.T) {
	t.Parallel()
	const rounds, writers, writes = 4, 8, 150
	dir := filepath.Join(t.TempDir(), "data")
	l := &ledger{revisions: map[string]int64{}}
	for round := range rounds {
		p, kubeconfig := launchUp(t, t.TempDir(), "--data-dir", dir)
		client := clientOf(t, kubeconfig)
		verifyLedger(t, l, client)
		l.wanted, l.enough = writes, make(chan struct{})
		var writing sync.WaitGroup
		for i := range writers {
			writing.Go(func() {
				if err := l.write(t.Context(), client, fmt.Sprintf("w-%d-%d", round, i)); err != nil {
					t.Error(err)
				}
			})
		}
		<-l.enough
		p.kill()
		writing.Wait()
	}
	p, kubeconfig := launchUp(t, t.TempDir(), "--data-dir", dir)
	verifyLedger(t, l, clientOf(t, kubeconfig))
	t.Logf("%d objects were acknowledged", len(l.revisions))
	p.stop()
}

func verifyLedger(t *testing.T, l *ledger, client kubernetes.Interface) {
	t.Helper()
	list, err := client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if revision, err := strconv.ParseInt(list.ResourceVersion, 10, 64); err != nil || revision < l.newest {
		t.Errorf("the revision is %d (%v), and was %d", revision, err, l.newest)
	}
	stored := map[string]string{}
	for _, item := range list.Items {
		stored[item.Name] = item.ResourceVersion
	}
	for name, revision := range l.revisions {
		if stored[name] != strconv.FormatInt(revision, 10) {
			t.Errorf("%s was acknowledged at revision %d, and is there at %q", name, revision, stored[name])
		}
	}
}

// TestSweep checks that the next process removes the temporary directory of a killed process, but
// neither a live process's directory nor a foreign one.
func TestSweep(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	left := func() []string {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(temporary, "minikcm-etcd-*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	foreign := filepath.Join(temporary, "minikcm-etcd-foreign")
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	killed, _ := launchUp(t, t.TempDir())
	living, kubeconfig := launchUp(t, t.TempDir())
	killed.kill()
	if found := left(); len(found) != 3 {
		t.Errorf("there are %v, want those of the killed and of the living process, and the foreign one", found)
	}
	cmd := exec.CommandContext(t.Context(), self(t), "exec", "--", "true")
	cmd.Env = append(os.Environ(), asCommand+"=run", "HOME="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if found := left(); len(found) != 2 {
		t.Errorf("after another start there are %v", found)
	}
	if n := nodesIn(t, kubeconfig); n != 1 {
		t.Errorf("the living process has %d nodes", n)
	}
	living.stop()
	if found := left(); len(found) != 1 || found[0] != foreign {
		t.Errorf("at the end there is %v", found)
	}
}
