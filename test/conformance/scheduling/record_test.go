package scheduling

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
)

var (
	update   = flag.Bool("update", false, "write the recording")
	path     = flag.String("recording", "../../../controllers/internal/scheduler/testdata/upstream.jsonl.gz", "the file of the recording")
	clusters = flag.Int("clusters", 100, "how many clusters are recorded")
	first    = flag.Uint64("seed", 1, "the seed of the first cluster")
)

// recorded is a line of the recording: a cluster, and the decisions on its pending pods.
type recorded struct {
	Seed      uint64            `json:"seed"`
	Config    json.RawMessage   `json:"config,omitempty"` // a KubeSchedulerConfiguration
	Objects   []json.RawMessage `json:"objects"`
	Decisions []decision        `json:"decisions"`
}

// TestRecording compares the recording with upstream's decisions. minikcm's own tests compare its decisions with
// the recording. With -update the recording is written; -clusters, -seed and -recording make another one.
func TestRecording(t *testing.T) {
	klog.SetLogger(logr.Discard()) // upstream logs that it cannot evict pods
	var lines bytes.Buffer
	pods, feasible := 0, 0
	for i := range *clusters {
		r := record(t, *first+uint64(i))
		for _, d := range r.Decisions {
			pods++
			if len(d.Feasible) > 0 {
				feasible++
			}
		}
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	t.Logf("%d clusters, %d pods, of which %d fit on a node", *clusters, pods, feasible)
	if *update {
		write(t, lines.Bytes())
		return
	}
	file, err := os.Open(*path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var known bytes.Buffer
	if _, err := known.ReadFrom(unzipped); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(known.Bytes(), lines.Bytes()) {
		t.Errorf("%s differs from upstream's decisions (-update rewrites it)", *path)
	}
}

func write(t *testing.T, lines []byte) {
	t.Helper()
	var zipped bytes.Buffer
	z, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(lines); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(*path, zipped.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// record generates the cluster of a seed and asks upstream.
func record(t *testing.T, seed uint64) recorded {
	t.Helper()
	c, err := generate(seed)
	if err != nil {
		t.Fatal(err)
	}
	r := recorded{Seed: seed, Config: c.config}
	for _, o := range c.objects {
		r.Objects = append(r.Objects, encode(t, o))
	}
	u, stop, err := start(t.Context(), c)
	defer stop()
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range c.pending {
		d, err := u.decide(t.Context(), pod)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		r.Decisions = append(r.Decisions, d)
	}
	return r
}

// encode returns an object in JSON, with its kind.
func encode(t *testing.T, o runtime.Object) json.RawMessage {
	t.Helper()
	kinds, _, err := scheme.Scheme.ObjectKinds(o)
	if err != nil {
		t.Fatal(err)
	}
	o = o.DeepCopyObject()
	o.GetObjectKind().SetGroupVersionKind(kinds[0])
	data, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
