//go:build unix

package bench

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/clock"
)

// BenchmarkWatchers measures the latency of events and the bytes read by a thousand watchers
// of one resource with a thousand writes per second.
func BenchmarkWatchers(b *testing.B) {
	for b.Loop() {
		ctx, cancel := context.WithTimeout(b.Context(), 5*time.Minute)
		cluster, _ := startAPI(ctx, b)
		f := fanOut{client: cluster.Client(), watchers: 1000, writes: 2000, rate: 1000}
		f.measure(ctx, b, "1,000 watchers, 1,000 writes/s: ")
		cancel()
	}
}

// fanOut is a number of watchers of one resource, and the writes that they watch.
type fanOut struct {
	client           kubernetes.Interface
	watchers, writes int
	rate             int // writes per second, at most

	elapsed func() time.Duration
	begun   []atomic.Int64 // the time of elapsed at the start of each write
	mu      sync.Mutex
	delays  []float64 // milliseconds
	bytes   atomic.Int64
}

// label is the objects' label, and the prefix of their names.
func (f *fanOut) label() string { return fmt.Sprintf("fan-out-%d", f.rate) }

// measure adds figures whose names begin with name.
func (f *fanOut) measure(ctx context.Context, b *testing.B, name string) {
	b.Helper()
	f.elapsed, f.begun = clock.Stopwatch(), make([]atomic.Int64, f.writes)
	var group sync.WaitGroup
	for range f.watchers {
		w, err := f.client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Watch(ctx, metav1.ListOptions{LabelSelector: f.label()})
		if err != nil {
			b.Fatal(err)
		}
		group.Go(func() {
			defer w.Stop()
			delays := make([]float64, 0, f.writes)
			for len(delays) < f.writes {
				event, ok := <-w.ResultChan()
				cm, isMap := event.Object.(*corev1.ConfigMap)
				if !ok || !isMap {
					b.Errorf("a watch ended after %d events", len(delays))
					return
				}
				i, err := strconv.Atoi(strings.TrimPrefix(cm.Name, f.label()+"-map-"))
				if err != nil {
					b.Error(err)
					return
				}
				delays = append(delays, float64(int64(f.elapsed())-f.begun[i].Load())/1e6)
				f.bytes.Add(int64(cm.Size()))
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			f.delays = append(f.delays, delays...)
		})
	}
	begin := f.elapsed()
	f.write(ctx, b)
	group.Wait()
	if b.Failed() {
		b.FailNow()
	}
	took := (f.elapsed() - begin).Seconds()
	slices.Sort(f.delays)
	measured.add(name+"p50 of an event's way", "ms", f.delays[len(f.delays)/2])
	measured.add(name+"p99 of an event's way", "ms", f.delays[len(f.delays)*99/100])
	measured.add(name+"delivered", "events/s", float64(len(f.delays))/took)
	measured.add(name+"read", "MB/s", float64(f.bytes.Load())/1e6/took)
}

// write makes the writes, as close to the rate as the machine allows.
func (f *fanOut) write(ctx context.Context, b *testing.B) {
	b.Helper()
	ticker := clock.Real().NewTicker(time.Second / time.Duration(f.rate))
	defer ticker.Stop()
	var group sync.WaitGroup
	slots := make(chan struct{}, 64)
	for i := range f.writes {
		<-ticker.C()
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			cm := kilobyte(i)
			cm.Name, cm.Labels = f.label()+"-"+cm.Name, map[string]string{f.label(): "yes"}
			f.begun[i].Store(int64(f.elapsed()))
			if _, err := f.client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(ctx, cm, metav1.CreateOptions{}); err != nil {
				b.Error(err)
			}
		})
	}
	group.Wait()
}
