//go:build linux

package powercut

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

var (
	cuts = flag.Int("cuts", 50, "how often the power is cut")
	seed = flag.Uint64("seed", 1, "chooses when, and what of the unsynced pages is left")
)

const writers = 6

// acknowledged are the last revisions of the objects whose writes succeeded.
type acknowledged struct {
	mu        sync.Mutex
	revisions map[string]string
	newest    int64
	total     int
	wanted    int
	enough    chan struct{} // closed after the wanted number of further writes
}

func (a *acknowledged) note(m *corev1.ConfigMap) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.revisions[m.Name] = m.ResourceVersion
	if n, err := strconv.ParseInt(m.ResourceVersion, 10, 64); err == nil {
		a.newest = max(a.newest, n)
	}
	a.total++
	if a.wanted--; a.wanted == 0 {
		close(a.enough)
	}
}

// write creates objects of different sizes and updates them, until the process is gone.
func (a *acknowledged) write(ctx context.Context, client kubernetes.Interface, prefix string) {
	maps := client.CoreV1().ConfigMaps("default")
	for i := 0; ; i++ {
		m, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", prefix, i)}, Data: map[string]string{"v": strings.Repeat("x", 100+i%5*4000)}}, metav1.CreateOptions{})
		if err != nil {
			return
		}
		a.note(m)
		m.Data["changed"] = "yes"
		name := m.Name
		if m, err = maps.Update(ctx, m, metav1.UpdateOptions{}); err != nil {
			a.mu.Lock()
			delete(a.revisions, name) // it may have been stored
			a.mu.Unlock()
			return
		}
		a.note(m)
	}
}

// verify fails the test for acknowledged writes that are missing.
func (a *acknowledged) verify(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	list, err := client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := strconv.ParseInt(list.ResourceVersion, 10, 64); err != nil || n < a.newest {
		t.Errorf("the revision is %s, and was %d", list.ResourceVersion, a.newest)
	}
	stored := map[string]string{}
	for i := range list.Items {
		stored[list.Items[i].Name] = list.Items[i].ResourceVersion
	}
	for name, revision := range a.revisions {
		if stored[name] != revision {
			t.Errorf("%s was acknowledged at revision %s, and is there at %q", name, revision, stored[name])
		}
	}
}

// requireFUSE skips the test where no file system can be mounted.
func requireFUSE(t *testing.T) {
	t.Helper()
	device, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("NOTHING IS TESTED: a file system in user space needs /dev/fuse and the right to mount: %v", err)
	}
	_ = device.Close()
}

// directories returns a directory for the files of a disk, and one to mount it at.
func directories(t *testing.T) (backing, point string) {
	t.Helper()
	base := t.TempDir()
	backing, point = filepath.Join(base, "backing"), filepath.Join(base, "disk")
	for _, dir := range []string{backing, point} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return backing, point
}

// build returns the path of a minikcm that is built of this source.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "minikcm")
	command := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./cmd/minikcm")
	command.Dir = "../.."
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("building minikcm: %v\n%s", err, out)
	}
	return path
}

// process is a minikcm that runs.
type process struct {
	*exec.Cmd
	client kubernetes.Interface
	// stderr may be read after Wait.
	stderr *strings.Builder
}

// up starts minikcm on a data directory.
func up(t *testing.T, binary, dir string) *process {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	p := &process{Cmd: exec.Command(binary, "up", "--nodes", "0", "--data-dir", dir, "--kubeconfig", kubeconfig), stderr: &strings.Builder{}}
	p.Stderr = p.stderr
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.HasPrefix(line, "export KUBECONFIG=") {
		_ = p.Process.Kill()
		_ = p.Wait()
		t.Fatalf("minikcm up printed %q (%v): %s", line, err, p.stderr)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	p.client = kubernetes.NewForConfigOrDie(config)
	return p
}

// end ends the process as a user does.
func (p *process) end(t *testing.T) {
	t.Helper()
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
}

// TestPowerCut cuts the power again and again. Every other cut drops all that was not synced, the
// others a random half of it.
func TestPowerCut(t *testing.T) {
	requireFUSE(t)
	binary := build(t)
	backing, point := directories(t)
	chance := rand.New(rand.NewPCG(*seed, 0))
	a := &acknowledged{revisions: map[string]string{}}
	dropped, kept := 0, 0
	for round := range *cuts {
		disk, err := mount(backing, point)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = disk.server.Unmount() }) // after a failure
		drop, keep := cutOnce(t, binary, disk, point, a, chance, round)
		dropped, kept = dropped+drop, kept+keep
		if t.Failed() {
			t.Fatalf("after cut %d of seed %d", round, *seed)
		}
	}
	p := up(t, binary, filepath.Join(backing, "data"))
	a.verify(t, p.client)
	p.end(t)
	t.Logf("%d cuts, %d acknowledged writes of %d objects; %d unsynced pages dropped, %d kept", *cuts, a.total, len(a.revisions), dropped, kept)
}

// cutOnce starts minikcm, verifies what was written before, and cuts the power while clients
// write. It returns the numbers of unsynced pages that were dropped and kept.
func cutOnce(t *testing.T, binary string, d *disk, point string, a *acknowledged, chance *rand.Rand, round int) (dropped, kept int) {
	p := up(t, binary, filepath.Join(point, "data"))
	a.verify(t, p.client)
	a.wanted, a.enough = 1+chance.IntN(200), make(chan struct{})
	var writing sync.WaitGroup
	for i := range writers {
		writing.Go(func() { a.write(t.Context(), p.client, fmt.Sprintf("w-%d-%d", round, i)) })
	}
	<-a.enough
	d.journal.powerOff()
	_ = p.Process.Kill()
	_ = p.Wait() // with the signal, or because its disk failed
	writing.Wait()
	part := chance
	if round%2 == 0 {
		part = nil
	}
	if err := d.unmount(part); err != nil {
		t.Fatal(err)
	}
	return d.journal.droppedPages, d.journal.keptPages
}

// TestTakeBack checks the model itself: what is synced stays, what is not goes.
func TestTakeBack(t *testing.T) {
	requireFUSE(t)
	backing, point := t.TempDir(), t.TempDir()
	d, err := mount(backing, point)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(point, "f"))
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string, off int64) {
		t.Helper()
		if _, err := file.WriteAt([]byte(text), off); err != nil {
			t.Fatal(err)
		}
	}
	write("durable", 0)
	if err := file.Sync(); err != nil {
		t.Fatal(err)
	}
	write("lost", 3)
	write("grown", 10_000)
	if err := os.WriteFile(filepath.Join(point, "g"), []byte("never synced"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.journal.powerOff()
	if _, err := file.WriteAt([]byte("late"), 0); err == nil {
		t.Error("a write after the cut succeeds")
	}
	_ = file.Close()
	if err := d.unmount(nil); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"f": "durable", "g": ""} {
		if got, err := os.ReadFile(filepath.Join(backing, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
}
