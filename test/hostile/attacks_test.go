package hostile

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// attack prepares an attack, however long that takes, and returns what works against the API
// until its context ends. The requests of the latter may fail.
type attack func(t *testing.T, config *rest.Config) func(ctx context.Context)

// attacks are by name what a client without privileges can try.
var attacks = map[string]attack{
	"lists that are not read":     stalledLists,
	"old lists that are not read": stalledOldLists,
	"watches that are not read":   stalledWatches,
	"a Deployment without end":    endlessDeployment,
	"large objects":               largeObjects,
	"a patch that copies itself":  copyBomb,
	"bodies of deep nesting":      deepBodies,
	"connections without request": idleConnections,
	"scripts in containers":       hostileScripts,
}

// parallel calls f with 0 to n-1 until all have returned.
func parallel(n int, f func(i int)) {
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { f(i) })
	}
	group.Wait()
}

func mustClient(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// fill writes n ConfigMaps of that many bytes, or fewer if ctx ends.
func fill(ctx context.Context, client kubernetes.Interface, n, size int) {
	value := strings.Repeat("x", size)
	parallel(8, func(worker int) {
		for i := worker; i < n && ctx.Err() == nil; i += 8 {
			_, _ = client.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("large-%d", i)}, Data: map[string]string{"v": value},
			}, metav1.CreateOptions{})
		}
	})
}

// readBuffer is the receive buffer of a client that does not read, in bytes.
const readBuffer = 16 << 10

// dial opens an HTTP/1.1 connection with a receive buffer of that many bytes.
func dial(ctx context.Context, config *rest.Config, buffer int) (net.Conn, error) {
	plain, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(config.Host, "https://"))
	if err != nil {
		return nil, err
	}
	if err := plain.(*net.TCPConn).SetReadBuffer(buffer); err != nil {
		return nil, err
	}
	secured, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	secured.ServerName, secured.NextProtos = "127.0.0.1", nil
	return tls.Client(plain, secured), nil
}

// stall makes n requests whose responses are not read, and holds them until ctx ends.
func stall(ctx context.Context, config *rest.Config, n int, path string) {
	parallel(n, func(int) {
		conn, err := dial(ctx, config, readBuffer)
		if err != nil {
			return // the server may refuse
		}
		defer conn.Close()
		_, _ = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", path, config.BearerToken)
		<-ctx.Done()
	})
}

func stalledLists(t *testing.T, config *rest.Config) func(context.Context) {
	fill(t.Context(), mustClient(t, config), 60, 300_000)
	return func(ctx context.Context) { stall(ctx, config, 300, "/api/v1/configmaps") }
}

// stalledOldLists requests lists that the watch cache does not have, as one document that is
// in memory as a whole.
func stalledOldLists(t *testing.T, config *rest.Config) func(context.Context) {
	client := mustClient(t, config)
	fill(t.Context(), client, 60, 300_000)
	first, err := client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{Limit: 1})
	if err != nil || first.Continue == "" {
		t.Fatalf("the first page: %v, continued with %q", err, first.Continue)
	}
	return func(ctx context.Context) {
		stall(ctx, config, 300, "/api/v1/namespaces/default/configmaps?limit=500&continue="+first.Continue)
	}
}

func stalledWatches(t *testing.T, config *rest.Config) func(context.Context) {
	client, value := mustClient(t, config), strings.Repeat("x", 200_000)
	write := func(ctx context.Context, i int) error {
		patch := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"watched"},"data":{"v":"%s%d"}}`, value, i)
		_, err := client.CoreV1().ConfigMaps("default").Patch(ctx, "watched", types.ApplyPatchType, []byte(patch), metav1.PatchOptions{FieldManager: "hostile"})
		return err
	}
	if err := write(t.Context(), 0); err != nil {
		t.Fatalf("nothing can be written that is watched: %v", err)
	}
	return func(ctx context.Context) {
		var writing sync.WaitGroup
		writing.Go(func() {
			for i := 1; ctx.Err() == nil; i++ {
				_ = write(ctx, i)
			}
		})
		stall(ctx, config, 200, "/api/v1/namespaces/default/configmaps?watch=true")
		writing.Wait()
	}
}

func endlessDeployment(t *testing.T, config *rest.Config) func(context.Context) {
	replicas, labels := int32(1_000_000), map[string]string{"app": "endless"}
	_, err := mustClient(t, config).AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "endless"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "nginx"}}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context) { <-ctx.Done() }
}

func largeObjects(t *testing.T, config *rest.Config) func(context.Context) {
	client := mustClient(t, config)
	return func(ctx context.Context) { fill(ctx, client, 1<<20, 900_000) }
}

func copyBomb(t *testing.T, config *rest.Config) func(context.Context) {
	client := mustClient(t, config)
	fill(t.Context(), client, 1, 1000)
	ops := make([]string, 60)
	for i := range ops {
		ops[i] = fmt.Sprintf(`{"op":"copy","from":"/data","path":"/data/c%d"}`, i)
	}
	patch := []byte("[" + strings.Join(ops, ",") + "]")
	return func(ctx context.Context) {
		parallel(4, func(int) {
			for ctx.Err() == nil {
				_, _ = client.CoreV1().ConfigMaps("default").Patch(ctx, "large-0", types.JSONPatchType, patch, metav1.PatchOptions{})
			}
		})
	}
}

func deepBodies(t *testing.T, config *rest.Config) func(context.Context) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	const levels = 1_000_000
	bodies := map[string]string{
		"application/json":             `{"apiVersion":"v1","kind":"ConfigMap","metadata":` + strings.Repeat(`{"a":`, levels/4) + "1" + strings.Repeat("}", levels/4) + "}",
		"application/yaml":             strings.Repeat("[", levels) + strings.Repeat("]", levels),
		"application/yaml ":            strings.Repeat("- ", levels),
		"application/json ":            strings.Repeat("[", 2*levels),
		"application/json;charset=utf": `{"metadata":{"name":"` + strings.Repeat(`\u0061`, levels/4) + `"}}`,
	}
	return func(ctx context.Context) {
		for ctx.Err() == nil {
			for contentType, body := range bodies {
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, config.Host+"/api/v1/namespaces/default/configmaps", bytes.NewReader([]byte(body)))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Content-Type", strings.TrimSpace(contentType))
				resp, err := client.Do(req)
				if err != nil {
					continue
				}
				if resp.StatusCode < 400 {
					t.Errorf("a body of deep nesting as %s was accepted", contentType)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		}
	}
}

func idleConnections(_ *testing.T, config *rest.Config) func(context.Context) {
	return func(ctx context.Context) {
		parallel(1000, func(int) {
			conn, err := dial(ctx, config, readBuffer)
			if err != nil {
				return
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\n")
			<-ctx.Done()
		})
	}
}
