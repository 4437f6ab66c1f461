//go:build unix

package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
)

const (
	faultClients = 16
	faultCalls   = 4_000
)

// BenchmarkFaultsAtRest measures the cost of fault injection while no fault is active: creates
// and gets of 1 kB ConfigMaps with and without APIFaults and StoreFaults.
func BenchmarkFaultsAtRest(b *testing.B) {
	for b.Loop() {
		for _, can := range []bool{false, true} {
			atRest(b, can)
		}
	}
}

func atRest(b *testing.B, canFail bool) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 5*time.Minute)
	defer cancel()
	_, ways := startAPI(ctx, b, func(o *minikcm.Options) { o.Faults.API, o.Faults.Store = canFail, canFail })
	what := map[bool]string{false: "cannot fail", true: "can fail"}[canFail]
	for _, way := range []string{"in memory", "over HTTPS"} {
		client, err := kubernetes.NewForConfig(ways[way])
		if err != nil {
			b.Fatal(err)
		}
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "at-rest-"}}
		if namespace, err = client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
			b.Fatal(err)
		}
		maps := client.CoreV1().ConfigMaps(namespace.Name)
		for _, verb := range []struct {
			name string
			call func(i int) error
		}{
			{"create", func(i int) error {
				_, err := maps.Create(ctx, kilobyte(i), metav1.CreateOptions{})
				return err
			}},
			{"get", func(i int) error {
				_, err := maps.Get(ctx, kilobyte(i).Name, metav1.GetOptions{})
				return err
			}},
		} {
			name := fmt.Sprintf("%s %s, a server that %s", verb.name, way, what)
			before := clock.ProcessorTime()
			measured.add(name, "/s", rate(b, faultClients, faultCalls, verb.call))
			measured.add(name+", processor", "us", (clock.ProcessorTime()-before).Seconds()*1e6/faultCalls)
			if canFail {
				base := fmt.Sprintf("%s %s, a server that cannot fail", verb.name, way)
				measured.compare(name, base)
				measured.compare(name+", processor", base+", processor")
			}
		}
	}
}
