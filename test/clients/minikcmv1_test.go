package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"minikcm.dev/minikcm/client"
)

// startForClient starts a cluster with the Go client.
func startForClient(t *testing.T) *client.TestCluster {
	t.Helper()
	return client.Start(t, client.Binary(minikcmBinary.path(t)), client.Nodes(2), client.Seed(7), client.Args("--ui"), client.Stderr(os.Stderr))
}

// raw sends requests with a kubeconfig, and returns responses as they are.
type raw struct {
	t       *testing.T
	client  *http.Client
	address string
}

func newRaw(t *testing.T, kubeconfig string) *raw {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	c, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return &raw{t: t, client: c, address: config.Host}
}

func (r *raw) do(method, path, body string) (*http.Request, *http.Response, []byte) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.address+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return req, res, data
}

func (r *raw) document() *openapi3.T {
	r.t.Helper()
	_, res, data := r.do(http.MethodGet, "/minikcm/v1/openapi.json", "")
	if res.StatusCode != http.StatusOK {
		r.t.Fatalf("there is no document: %s", data)
	}
	document, err := openapi3.NewLoader().LoadFromData(data)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := document.Validate(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	return document
}

// ownRequests are requests to each operation of the document, in an order in which they work,
// with the codes of the responses.
var ownRequests = []struct {
	method, path, body string
	code               int
}{
	{http.MethodGet, "/minikcm/v1", "", 200},
	{http.MethodGet, "/minikcm/v1/controllers", "", 200},
	{http.MethodGet, "/minikcm/v1/clock", "", 200},
	{http.MethodPost, "/minikcm/v1/clock/pause", "", 200},
	{http.MethodPost, "/minikcm/v1/clock/speed", `{"speed": 2.5}`, 200},
	{http.MethodPost, "/minikcm/v1/clock/speed", `{"speed": 0}`, 422},
	{http.MethodPost, "/minikcm/v1/clock/advance", `{"duration": "10m"}`, 200},
	{http.MethodPost, "/minikcm/v1/clock/advance", `{"duration": "x"}`, 422},
	{http.MethodPost, "/minikcm/v1/clock/step", "", 200},
	{http.MethodPost, "/minikcm/v1/clock/resume", "", 200},
	{http.MethodPost, "/minikcm/v1/faults", `{"nodes": {"action": "crash", "names": ["node-1"]}, "for": "5m"}`, 201},
	{http.MethodPost, "/minikcm/v1/faults", `{"nodes": {"action": "explode"}}`, 422},
	{http.MethodPost, "/minikcm/v1/clock/advance", `{"duration": "1m"}`, 200}, // the fault has notes
	{http.MethodGet, "/minikcm/v1/faults", "", 200},
	{http.MethodGet, "/minikcm/v1/faults/f-1", "", 200},
	{http.MethodDelete, "/minikcm/v1/faults/f-1", "", 200},
	{http.MethodGet, "/minikcm/v1/faults/f-9", "", 404},
	{http.MethodGet, "/minikcm/v1/writes?resource=nodes", "", 200},
	{http.MethodGet, "/minikcm/v1/writes?since=-1", "", 400},
	{http.MethodGet, "/minikcm/v1/refusals", "", 200},
	{http.MethodGet, "/minikcm/v1/revisions", "", 200},
	{http.MethodGet, "/minikcm/v1/why?resource=nodes&name=node-1", "", 200},
	{http.MethodGet, "/minikcm/v1/why?resource=nodes&name=node-9", "", 404},
	{http.MethodGet, "/minikcm/v1/loops/replicaset-controller", "", 200},
	{http.MethodGet, "/minikcm/v1/loops/nothing", "", 404},
	{http.MethodGet, "/minikcm/v1/debugger", "", 200},
	{http.MethodPost, "/minikcm/v1/debugger/step", `{"until": {"error": true}}`, 409},
	{http.MethodGet, "/minikcm/v1/entrances", "", 200},
	{http.MethodGet, "/minikcm/v1/reach?from=node/node-0&to=10.96.0.1:80", "", 200},
	{http.MethodGet, "/minikcm/v1/reach?from=nothing&to=web", "", 404},
	{http.MethodGet, "/minikcm/v1/reach?from=pvc/x&to=web", "", 400},
	{http.MethodGet, "/minikcm/v1/reach/matrix?namespaces=default", "", 404},
	{http.MethodGet, "/minikcm/v1/reach/matrix?by=namespace&port=80", "", 200},
	{http.MethodGet, "/minikcm/v1/reach/matrix?by=zone", "", 400},
	{http.MethodGet, "/minikcm/v1/scenarios", "", 200},
	{http.MethodGet, "/minikcm/v1/scenarios/pod-kill", "", 200},
	{http.MethodPost, "/minikcm/v1/scenarios", `{"name": "job-backoff"}`, 201},
	{http.MethodPost, "/minikcm/v1/scenarios", `{"name": "gc-cascade"}`, 409},
	{http.MethodPost, "/minikcm/v1/scenarios", `{"name": "pod-kill"}`, 422},
	{http.MethodGet, "/minikcm/v1/scenarios/runs", "", 200},
	{http.MethodGet, "/minikcm/v1/scenarios/runs/run-1", "", 200},
	{http.MethodDelete, "/minikcm/v1/scenarios/runs/run-1", "", 200},
	{http.MethodGet, "/minikcm/v1/scenarios/runs/run-1", "", 200}, // with its report
	{http.MethodGet, "/minikcm/v1/scenarios/runs/run-1/report", "", 200},
	{http.MethodGet, "/minikcm/v1/scenarios/runs/run-9/report", "", 404},
	{http.MethodDelete, "/minikcm/v1/scenarios/runs/run-9", "", 404},
	{http.MethodPost, "/minikcm/v1/forks", `{"revision": 0}`, 201},
	{http.MethodGet, "/minikcm/v1/forks", "", 200},
	{http.MethodGet, "/minikcm/v1/forks/fork-1/comparison", "", 200},
	{http.MethodGet, "/minikcm/v1/forks/fork-9/comparison", "", 404},
	{http.MethodGet, "/minikcm/v1/forks/fork-1/clock", "", 200},
	{http.MethodGet, "/minikcm/v1/forks/fork-9/clock", "", 404},
	{http.MethodPost, "/minikcm/v1/forks/fork-1/clock/pause", "", 200},
	{http.MethodPost, "/minikcm/v1/forks/fork-1/clock/speed", `{"speed": 2.5}`, 200},
	{http.MethodPost, "/minikcm/v1/forks/fork-1/clock/speed", `{"speed": 0}`, 422},
	{http.MethodPost, "/minikcm/v1/forks/fork-1/clock/advance", `{"duration": "10m"}`, 200},
	{http.MethodPost, "/minikcm/v1/forks/fork-1/clock/step", "", 200},
	{http.MethodPost, "/minikcm/v1/forks/fork-1/clock/resume", "", 200},
	{http.MethodPost, "/minikcm/v1/forks/fork-9/clock/pause", "", 404},
	{http.MethodGet, "/minikcm/v1/forks?follow=true", "", 400},
	{http.MethodDelete, "/minikcm/v1/forks/fork-1", "", 200},
	{http.MethodDelete, "/minikcm/v1/forks/fork-1", "", 404},
	{http.MethodGet, "/minikcm/v1/snapshot", "", 200},
	{http.MethodPost, "/minikcm/v1/reset", "", 202},
}

// TestOwnAPI compares the responses of each operation with the OpenAPI document, which clients
// are written from.
func TestOwnAPI(t *testing.T) {
	t.Parallel()
	mk := startForClient(t)
	r := newRaw(t, mk.Kubeconfig)
	document := r.document()
	router, err := gorillamux.NewRouter(document)
	if err != nil {
		t.Fatal(err)
	}
	openapi3filter.RegisterBodyDecoder("application/octet-stream", openapi3filter.FileBodyDecoder)
	openapi3filter.RegisterBodyDecoder("text/html", openapi3filter.FileBodyDecoder)
	asked := map[string]bool{"resets": true} // with the clients
	for _, test := range ownRequests {
		req, res, data := r.do(test.method, test.path, test.body)
		if res.StatusCode != test.code {
			t.Errorf("%s %s %s: %s: %s", test.method, test.path, test.body, res.Status, data)
			continue
		}
		if i := strings.Index(test.path, "snapshot"); i >= 0 {
			data = data[:min(len(data), 10)] // it need not be text
		}
		at, _ := http.NewRequestWithContext(t.Context(), test.method, test.path, nil)
		route, parameters, err := router.FindRoute(at)
		if err != nil {
			t.Errorf("%s %s is not in the document: %v", test.method, test.path, err)
			continue
		}
		asked[route.Operation.OperationID] = true
		input := &openapi3filter.ResponseValidationInput{
			RequestValidationInput: &openapi3filter.RequestValidationInput{Request: req, PathParams: parameters, Route: route},
			Status:                 res.StatusCode, Header: res.Header,
		}
		input.SetBodyBytes(data)
		if err := openapi3filter.ValidateResponse(t.Context(), input); err != nil {
			t.Errorf("%s %s: %v\n%s", test.method, test.path, err, data)
		}
	}
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			if !asked[operation.OperationID] {
				t.Errorf("%s %s (%s) is not tested", method, path, operation.OperationID)
			}
		}
	}
	var info client.Info
	if _, _, data := r.do(http.MethodGet, "/minikcm/v1", ""); json.Unmarshal(data, &info) != nil {
		t.Fatalf("%s", data)
	}
	for _, feature := range info.Features {
		described := slices.ContainsFunc(document.Paths.InMatchingOrder(), func(path string) bool {
			return strings.HasPrefix(path+"/", "/minikcm/v1/"+feature+"/")
		})
		if !described && !slices.Contains([]string{"access", "stop", "ui"}, feature) { // they serve a command of minikcm
			t.Errorf("the feature %s is not in the document", feature)
		}
	}
}

var upper = regexp.MustCompile(`[A-Z]`)

// Each client has a method for each operation of the document.
func TestClientsHaveAllOperations(t *testing.T) {
	t.Parallel()
	mk := startForClient(t)
	python, err := os.ReadFile("../../client/python/minikcm.py")
	if err != nil {
		t.Fatal(err)
	}
	typescript, err := os.ReadFile("../../client/typescript/minikcm.ts")
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range newRaw(t, mk.Kubeconfig).document().Paths.Map() {
		for _, operation := range item.Operations() {
			id := operation.OperationID
			if name := strings.ToUpper(id[:1]) + id[1:]; !reflect.ValueOf(mk.Cluster).MethodByName(name).IsValid() {
				t.Errorf("the Go client has no method %s", name)
			}
			if name := upper.ReplaceAllStringFunc(id, func(s string) string { return "_" + strings.ToLower(s) }); !bytes.Contains(python, []byte("\n    def "+name+"(self")) {
				t.Errorf("the Python client has no method %s", name)
			}
			if !regexp.MustCompile(`\n  (async )?` + id + `\(`).Match(typescript) {
				t.Errorf("the TypeScript client has no method %s", id)
			}
		}
	}
}

// TestGoClient controls a cluster with the Go client.
func TestGoClient(t *testing.T) {
	t.Parallel()
	mk := startForClient(t)
	if info := mk.Info(); info.Seed != 7 || !slices.Contains(info.Features, "clock") || info.Clock.Mode != "virtual" {
		t.Errorf("the cluster is %+v", info)
	}
	if all := mk.Controllers(); len(all) < 30 {
		t.Errorf("there are %d controllers", len(all))
	}
	paused := mk.Pause()
	if later := mk.Advance(24 * time.Hour); later.Now != paused.Now.Add(24*time.Hour) || !later.Paused {
		t.Errorf("a day after %v it is %+v", paused.Now, later)
	}
	if next, stepped := mk.Settle().NextTimer, mk.Step(); !stepped.Now.Equal(*next) {
		t.Errorf("a step moved the clock to %v, not to %v", stepped.Now, next)
	}
	if state := mk.SetSpeed(10); state.Factor != 10 {
		t.Errorf("the clock is %+v", state)
	}
	fault := mk.Fail("nodes: {action: crash, names: [node-1]}\nfor: 5m")
	mk.Advance(2 * time.Minute)
	if fault = mk.Fault(fault.ID); fault.State != "Active" || len(fault.Notes) == 0 {
		t.Errorf("the fault is %+v", fault)
	}
	if why := mk.Why("nodes", "", "node-1").String(); !strings.Contains(why, "node-controller") && !strings.Contains(why, "node-lifecycle") {
		t.Errorf("nobody noticed that the node is down:\n%s", why)
	}
	if stopped := mk.StopFault(fault.ID); stopped.State != "Stopped" || len(mk.Faults()) != 1 {
		t.Errorf("the fault is %+v", stopped)
	}
	writes := mk.Writes(client.WritesOf{Resource: "nodes", Name: "node-1"})
	if len(writes) == 0 || writes[0].Effect != "created" || writes[0].Verb != "create" {
		t.Errorf("the writes of node-1 are %+v", writes)
	}
	file := filepath.Join(t.TempDir(), "snapshot.db")
	mk.Snapshot(file)
	if info, err := os.Stat(file); err != nil || info.Size() == 0 {
		t.Errorf("the snapshot is %v, %v", info, err)
	}
	if err := mk.Cluster.Snapshot(t.Context(), file); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second snapshot in the same file: %v", err)
	}
	mk.Reset()
	if after := mk.Writes(client.WritesOf{Resource: "nodes", Name: "node-1"}); len(after) >= len(writes) {
		t.Errorf("after a reset there are %d writes, before %d", len(after), len(writes))
	}
	mk.Resume()
	_, err := mk.Cluster.SetSpeed(t.Context(), -1)
	var refused *client.StatusError
	if !errors.As(err, &refused) || refused.Code != 422 || refused.Reason != "Invalid" {
		t.Errorf("a negative speed: %v", err)
	}
}

// A cluster that does not start says why; one that ends takes its files with it.
func TestGoClientWithoutACluster(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := client.Run(ctx, client.Binary("no-such-program")); err == nil || !strings.Contains(err.Error(), "no-such-program") {
		t.Errorf("no program: %v", err)
	}
	_, err := client.Run(ctx, client.Binary(minikcmBinary.path(t)), client.Nodes(-1))
	if err == nil || !strings.Contains(err.Error(), "--nodes must not be negative") {
		t.Errorf("a wrong flag: %v", err)
	}
	cluster, err := client.Run(ctx, client.Binary(minikcmBinary.path(t)), client.RealClock())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.Pause(ctx); err == nil || !strings.Contains(err.Error(), "the cluster's clock is real") {
		t.Errorf("a real clock: %v", err)
	}
	if err := cluster.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(cluster.Kubeconfig)); !os.IsNotExist(err) {
		t.Errorf("files are left: %v", err)
	}
	if _, err := cluster.Clock(ctx); err == nil || !strings.Contains(err.Error(), "minikcm ended") {
		t.Errorf("a cluster that has ended: %v", err)
	}
}

// TestPythonClient runs the tests of the Python client.
func TestPythonClient(t *testing.T) {
	t.Parallel()
	runScript(t, "../../client/python", "python3", "-m", "unittest", "-v", "test_minikcm")
}

// TestTypeScriptClient runs the tests of the TypeScript client, which esbuild translates.
func TestTypeScriptClient(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "tool", "-modfile=tools/go.mod", "esbuild", "client/typescript/minikcm.test.ts",
		"--bundle", "--platform=node", "--format=esm", "--out-extension:.js=.mjs", "--outdir="+dir, "--log-level=warning")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	runScript(t, dir, "node", "--test", "minikcm.test.mjs")
}

// runScript runs a test in another language, which has to be installed.
func runScript(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("NOT TESTED: %s is not installed", program)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "MINIKCM="+minikcmBinary.path(t), "PYTHONDONTWRITEBYTECODE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", program, err, out)
	}
}
