package minikcm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/minikcmtest"
)

// greeter is a service that knows of its cluster, and needs the API when it is closed.
type greeter struct {
	cluster *minikcm.Cluster
	name    string
	closed  func(name string, err error)
}

func (g *greeter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = fmt.Fprintf(w, "%s greets %s at %s", g.name, minikcm.RequestUser(r), r.URL.Path)
}

func (g *greeter) Close() error {
	_, err := g.cluster.Client().CoreV1().Nodes().List(context.Background(), metav1.ListOptions{})
	g.closed(g.name, err)
	return nil
}

func extension(name string, closed func(name string, err error)) minikcm.Extension {
	return minikcm.Extension{Name: name, Start: func(_ context.Context, cluster *minikcm.Cluster) (minikcm.ExtensionHandler, error) {
		return &greeter{cluster, name, closed}, nil
	}}
}

func ask(t *testing.T, config *rest.Config, path string) (code int, answer string) {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() // it is only read
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// Extensions are served to administrators, and closed in the reverse order while the API
// server still answers.
func TestExtensions(t *testing.T) {
	t.Parallel()
	var closed []string
	note := func(name string, err error) { closed = append(closed, fmt.Sprint(name, " ", err)) }
	cluster, err := minikcm.Start(t.Context(), minikcm.Options{API: minikcm.APIOptions{NoHTTPS: true, Extensions: []minikcm.Extension{extension("first", note), extension("second", note)}}, Nodes: minikcm.NodeOptions{Count: -1}, Security: minikcm.SecurityOptions{AuthorizationModes: []string{apiserver.AuthorizeAlways}}})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/minikcm/v1/first": "first greets kubernetes-admin at /minikcm/v1/first", "/minikcm/v1/second/a/b": "second greets kubernetes-admin at /minikcm/v1/second/a/b",
	} {
		if code, answer := ask(t, cluster.Config(), path); code != http.StatusOK || answer != want {
			t.Errorf("%s is answered with %d %s", path, code, answer)
		}
	}
	if code, answer := ask(t, cluster.ConfigFor("jane"), "/minikcm/v1/first/a"); code != http.StatusForbidden || !strings.Contains(answer, `User \"jane\" cannot get path \"/minikcm/v1/first/a\": only the group system:masters may`) {
		t.Errorf("jane is answered with %d %s", code, answer)
	}
	if code, _ := ask(t, cluster.Config(), "/minikcm/v1/firstly"); code != http.StatusNotFound {
		t.Errorf("what no extension serves is answered with %d", code)
	}
	if err := cluster.Close(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(closed, ", "); got != "second <nil>, first <nil>" {
		t.Errorf("closed are %s", got)
	}
}

// An extension that does not start ends the start of the cluster, and closes the others.
func TestExtensionThatDoesNotStart(t *testing.T) {
	t.Parallel()
	closed := 0
	failure := errors.New("it does not want to")
	_, err := minikcm.Start(t.Context(), minikcm.Options{API: minikcm.APIOptions{NoHTTPS: true, Extensions: []minikcm.Extension{
		extension("first", func(string, error) { closed++ }),
		{Name: "second", Start: func(context.Context, *minikcm.Cluster) (minikcm.ExtensionHandler, error) { return nil, failure }},
	}}, Nodes: minikcm.NodeOptions{Count: -1}})
	if !errors.Is(err, failure) || closed != 1 {
		t.Errorf("%v, and %d services were closed", err, closed)
	}
}

func TestExtensionsThatCannotBeServed(t *testing.T) {
	t.Parallel()
	good := extension("good", nil)
	for want, extensions := range map[string][]minikcm.Extension{
		"must consist of lower case letters": {{Name: "Bad/1", Start: good.Start}},
		"another one has this name":          {good, good},
		`"why" cannot be served`:             {{Name: "why", Start: good.Start}},
		"has no Start":                       {{Name: "good"}},
	} {
		opts := minikcm.Options{API: minikcm.APIOptions{Extensions: extensions}}
		if err := opts.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A cluster says that it is one of minikcm's, and how its time passes.
func TestInfo(t *testing.T) {
	t.Parallel()
	for mode, want := range map[clock.Mode]minikcm.ClockInfo{
		"":                {Mode: clock.ModeReal},
		clock.ModeScaled:  {Mode: clock.ModeScaled, Factor: 60},
		clock.ModeVirtual: {Mode: clock.ModeVirtual, Now: minikcm.DefaultClockStart},
	} {
		cluster := minikcmtest.New(t, minikcmtest.WithNodes(0), minikcmtest.WithOptions(func(o *minikcm.Options) {
			o.Clock.Mode, o.Clock.Speed = mode, want.Factor
			o.Security.AuthorizationModes = []string{apiserver.AuthorizeAlways}
			o.API.Extensions = []minikcm.Extension{extension("greeting", func(string, error) {})}
		}))
		code, answer := ask(t, cluster.ConfigFor("jane"), "/minikcm/v1")
		var info minikcm.Info
		if err := json.Unmarshal([]byte(answer), &info); err != nil || code != http.StatusOK {
			t.Fatalf("%d %s: %v", code, answer, err)
		}
		got := info.Clock
		if mode != clock.ModeVirtual {
			if got.Now.IsZero() {
				t.Error("it does not say what time it is")
			}
			got.Now = want.Now
		}
		if got != want || info.Version == "" || info.Kubernetes == "" || strings.Join(info.Features, " ") != "controllers greeting snapshot why writes" {
			t.Errorf("it says %s", answer)
		}
	}
}

// The kubeconfig says that its cluster is one of minikcm's, too.
func TestKubeconfigSaysWhose(t *testing.T) {
	t.Parallel()
	cluster := minikcmtest.New(t, minikcmtest.WithNodes(0), minikcmtest.WithHTTPS())
	config, err := clientcmd.Load(cluster.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	extension, ok := config.Clusters[config.Contexts[config.CurrentContext].Cluster].Extensions[minikcm.ConfigExtension].(*runtime.Unknown)
	if !ok || string(extension.Raw) != `{"version":"`+minikcm.Version()+`"}` {
		t.Errorf("the kubeconfig is\n%s", cluster.Kubeconfig())
	}
}
