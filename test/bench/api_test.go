//go:build unix

package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/clock"
)

const (
	apiCalls     = 4_000 // calls for each verb and number of clients
	apiListItems = 10    // objects in the listed namespace
	listedPods   = 10_000
)

// startAPI returns a cluster without nodes and its client configurations by transport.
func startAPI(ctx context.Context, b *testing.B, change ...func(*minikcm.Options)) (*minikcm.Cluster, map[string]*rest.Config) {
	b.Helper()
	opts := minikcm.Options{Seed: 1, Nodes: minikcm.NodeOptions{Count: -1}, Controllers: minikcm.ControllerOptions{Selected: []string{"-*"}, NoScheduler: true}}
	for _, c := range change {
		c(&opts)
	}
	cluster, err := minikcm.Start(ctx, opts)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			b.Error(err)
		}
	})
	https, err := cluster.HTTPSConfig()
	if err != nil {
		b.Fatal(err)
	}
	// No controllers run: pods need the default service account.
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := cluster.Client().CoreV1().ServiceAccounts(metav1.NamespaceDefault).Create(ctx, account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		b.Fatal(err)
	}
	https.QPS = -1
	https.ContentType = "application/vnd.kubernetes.protobuf"
	return cluster, map[string]*rest.Config{"in memory": apiserver.Protobuf(cluster.Config()), "over HTTPS": https}
}

// BenchmarkAPI measures how many creates, gets, lists of ten objects and updates of 1 kB
// ConfigMaps the API server serves per second to 1, 16 and 256 clients, each compared with
// the raw puts of as many writers to the same embedded etcd.
func BenchmarkAPI(b *testing.B) {
	for b.Loop() {
		for _, clients := range []int{1, 16, 256} {
			rawRate(b, clients)
			ctx, cancel := context.WithTimeout(b.Context(), 5*time.Minute)
			_, ways := startAPI(ctx, b)
			for _, way := range []string{"in memory", "over HTTPS"} {
				apiRates(ctx, b, ways[way], way, clients)
			}
			cancel()
		}
	}
}

func rawName(clients int) string {
	return fmt.Sprintf("raw puts of 1.5 kB, %d writers", clients)
}

func apiRates(ctx context.Context, b *testing.B, cfg *rest.Config, way string, clients int) {
	b.Helper()
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		b.Fatal(err)
	}
	namespace := strings.ReplaceAll(strings.ToLower(way), " ", "-") + "-" + strconv.Itoa(clients)
	for _, name := range []string{namespace, namespace + "-few"} {
		if _, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	maps, few := client.CoreV1().ConfigMaps(namespace), client.CoreV1().ConfigMaps(namespace+"-few")
	for i := range apiListItems {
		if _, err := few.Create(ctx, kilobyte(i), metav1.CreateOptions{}); err != nil {
			b.Fatal(err)
		}
	}
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
		{"list", func(int) error {
			_, err := few.List(ctx, metav1.ListOptions{})
			return err
		}},
		{"update", func(i int) error {
			cm := kilobyte(i)
			cm.Labels = map[string]string{"changed": "yes"}
			_, err := maps.Update(ctx, cm, metav1.UpdateOptions{})
			return err
		}},
	} {
		name := fmt.Sprintf("%s %s, %d clients", verb.name, way, clients)
		measured.add(name, "/s", rate(b, clients, apiCalls, verb.call))
		measured.compare(name, rawName(clients))
	}
}

func kilobyte(i int) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("map-%06d", i)}, Data: map[string]string{"data": strings.Repeat("x", 1000)}}
}

// rate returns the number of calls per second of several concurrent callers.
func rate(b *testing.B, callers, calls int, call func(i int) error) float64 {
	b.Helper()
	var next atomic.Int64
	var group sync.WaitGroup
	elapsed := clock.Stopwatch()
	for range callers {
		group.Go(func() {
			for i := next.Add(1); i <= int64(calls); i = next.Add(1) {
				if err := call(int(i)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	if b.Failed() {
		b.FailNow()
	}
	return float64(calls) / elapsed().Seconds()
}

// BenchmarkList measures a list of 10,000 pods in the formats that clients request.
func BenchmarkList(b *testing.B) {
	ctx, cancel := context.WithTimeout(b.Context(), 10*time.Minute)
	defer cancel()
	cluster, ways := startAPI(ctx, b)
	pods := cluster.Client().CoreV1().Pods(metav1.NamespaceDefault)
	rate(b, 32, listedPods, func(i int) error {
		_, err := pods.Create(ctx, benchPod(i), metav1.CreateOptions{})
		return err
	})
	client, err := rest.HTTPClientFor(ways["over HTTPS"])
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		for name, accept := range map[string]string{
			"JSON": "application/json", "protobuf": "application/vnd.kubernetes.protobuf", "Table": "application/json;as=Table;v=v1;g=meta.k8s.io",
		} {
			elapsed := clock.Stopwatch()
			size := fetch(ctx, b, client, ways["over HTTPS"].Host+"/api/v1/pods", accept)
			measured.add("list of 10,000 pods over HTTPS as "+name, "ms", elapsed().Seconds()*1000)
			measured.add("the same, size", "MB", float64(size)/1e6)
		}
	}
}

func fetch(ctx context.Context, b *testing.B, client *http.Client, url, accept string) int64 {
	b.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := client.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close() // read completely
	n, err := io.Copy(io.Discard, resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		b.Fatalf("%s: %d %v", url, resp.StatusCode, err)
	}
	return n
}

func benchPod(i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%06d", i), Labels: map[string]string{"app": "bench"}},
		Spec: corev1.PodSpec{
			ServiceAccountName: "default",
			Containers:         []corev1.Container{{Name: "main", Image: "example.com/app:1"}},
		},
	}
}
