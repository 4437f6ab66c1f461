//go:build unix

package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"minikcm.dev/minikcm/clock"
)

const (
	bigList    = 3_000 // objects of 1 kB in a list
	selectedOf = 4_500 // objects of which a selector selects a hundredth
	listTime   = 3 * time.Second
)

// BenchmarkLists measures what a client of the binary waits for a list over HTTPS, and how many
// lists several clients get per second. Clients read the response and do not decode it.
func BenchmarkLists(b *testing.B) {
	for b.Loop() {
		ctx, cancel := context.WithTimeout(b.Context(), 5*time.Minute)
		u := startUp(b, "--nodes", "0")
		config, err := clientcmd.BuildConfigFromFlags("", u.kubeconfig)
		if err != nil {
			b.Fatal(err)
		}
		config.QPS, config.ContentType = -1, "application/vnd.kubernetes.protobuf"
		labelled(ctx, b, config, 0, bigList)
		name := fmt.Sprintf("list of %d objects of 1 kB as ", bigList)
		for _, clients := range []int{1, 8} {
			for _, encoding := range []string{"identity", "gzip"} {
				timeLists(ctx, b, config, name+"JSON, "+encoding, "", "application/json", encoding, clients)
				timeLists(ctx, b, config, name+"protobuf, "+encoding, "", config.ContentType, encoding, clients)
			}
			timeLists(ctx, b, config, name+"Table", "", "application/json;as=Table;v=v1;g=meta.k8s.io", "identity", clients)
			timeLists(ctx, b, config, name+"metadata", "", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "identity", clients)
		}
		labelled(ctx, b, config, bigList, selectedOf)
		for _, clients := range []int{1, 8} {
			timeLists(ctx, b, config, fmt.Sprintf("1 %% of %d by label as protobuf", selectedOf), "?labelSelector=pick%3D7", config.ContentType, "gzip", clients)
		}
		u.stop(b)
		cancel()
	}
}

// labelled creates the ConfigMaps from first to end; a hundredth of them has each label.
func labelled(ctx context.Context, b *testing.B, config *rest.Config, first, end int) {
	b.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	rate(b, 16, end-first, func(i int) error {
		cm := kilobyte(first + i)
		cm.Labels = map[string]string{"pick": strconv.Itoa(i % 100), "app": "bench"}
		_, err := client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(ctx, cm, metav1.CreateOptions{})
		return err
	})
}

// timeLists lists for a while with several clients.
func timeLists(ctx context.Context, b *testing.B, config *rest.Config, name, query, accept, encoding string, clients int) {
	b.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		b.Fatal(err)
	}
	url := config.Host + "/api/v1/namespaces/default/configmaps" + query
	var (
		group   sync.WaitGroup
		mu      sync.Mutex
		times   []float64
		elapsed = clock.Stopwatch()
	)
	for range clients {
		group.Go(func() {
			for elapsed() < listTime {
				one := clock.Stopwatch()
				if err := readList(ctx, client, url, accept, encoding); err != nil {
					b.Error(err)
					return
				}
				mu.Lock()
				times = append(times, one().Seconds()*1000)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if b.Failed() {
		b.FailNow()
	}
	took := elapsed().Seconds()
	name = fmt.Sprintf("%s, %d clients", name, clients)
	measured.add(name, "ms", median(times))
	measured.add(name+", together", "/s", float64(len(times))/took)
}

func readList(ctx context.Context, client *http.Client, url, accept, encoding string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("Accept-Encoding", encoding)
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() // read completely
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, resp.Status)
	}
	return nil
}
