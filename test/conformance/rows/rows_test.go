package rows

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

var (
	binary   = flag.String("minikcm", "../../../bin/minikcm", "the minikcm that is compared")
	corpus   = flag.String("corpus", "../../../apiserver/internal/resources/testdata/create/*.yaml", "the manifests")
	statuses = flag.String("statuses", "../../../apiserver/internal/resources/testdata/status/*.yaml", "the manifests with a status")
	known    = flag.String("known", "testdata/known.txt", "the differences that are known, one a line")
	update   = flag.Bool("update", false, "rewrite the list of differences")
)

// TestRefusals fails for differences that are not in the list.
func TestRefusals(t *testing.T) {
	client, mapper := startMinikcm(t)
	files, err := filepath.Glob(*corpus)
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	found := map[string]bool{}
	compared := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var manifest map[string]any
		if err := yaml.Unmarshal(data, &manifest); err != nil {
			t.Fatal(err)
		}
		for _, d := range append([]damaged{{what: "as it is", manifest: manifest}}, damages(manifest, false)...) {
			differences, ok := compare(t, client, mapper, d.manifest)
			if ok {
				compared++
			}
			for _, difference := range differences {
				found[fmt.Sprintf("%s: %s: %s", strings.TrimSuffix(filepath.Base(file), ".yaml"), d.what, difference)] = true
			}
		}
	}
	t.Logf("%d manifests were compared, %d differences", compared, len(found))
	report(t, found)
}

// whyDifferent is the header of the list, in which lines that begin with # are comments.
const whyDifferent = `# service-loadbalancer: upstream's strategy wants what its storage has allocated by then
# mutatingwebhookconfiguration: upstream has the service's name and namespace the wrong way round
# mutatingadmissionpolicy and its binding: upstream names an operation twice, once at a path of no field
# lease: the strategy is behind a gate that is off by default
# limitrange: upstream names one that has no name
# pod-*: here admission gives a Pod its service account before it is checked
`

// report compares the differences found with the list.
func report(t *testing.T, found map[string]bool) {
	t.Helper()
	lines := slices.Sorted(maps.Keys(found))
	if *update {
		if err := os.WriteFile(*known, []byte(whyDifferent+strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	data, err := os.ReadFile(*known)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	listed := strings.Split(strings.TrimSpace(string(data)), "\n")
	for _, line := range lines {
		if !slices.Contains(listed, line) {
			t.Error(line)
		}
	}
}

func startMinikcm(t *testing.T) (rest.Interface, meta.RESTMapper) {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, *binary, "up", "--nodes", "1", "--kubeconfig", kubeconfig,
		"--feature-gates", strings.Join(gates, "=true,")+"=true", "--runtime-config", "resource.k8s.io/v1alpha3=true,internal.apiserver.k8s.io/v1alpha1=true")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // returns an error because it was interrupted
	})
	// It prints a line when it is ready.
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	lookup, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := restmapper.GetAPIGroupResources(lookup)
	if err != nil {
		t.Fatal(err)
	}
	prepare(t, config)
	return lookup.RESTClient(), restmapper.NewDiscoveryRESTMapper(groups)
}

// prepare creates the objects to which the corpus refers and that admission looks up.
func prepare(t *testing.T, config *rest.Config) {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	robot := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}
	if _, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Create(context.Background(), robot, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// compare returns the differences for one manifest. ok is false if it cannot be compared.
func compare(t *testing.T, client rest.Interface, mapper meta.RESTMapper, manifest map[string]any) (differences []string, ok bool) {
	t.Helper()
	apiVersion, _ := manifest["apiVersion"].(string)
	kindName, _ := manifest["kind"].(string)
	kind := schema.FromAPIVersionAndKind(apiVersion, kindName)
	strategy := strategies()[kind.GroupKind()]
	if strategy == nil {
		return nil, false
	}
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := refusal(strategy, kind, data, mapping.Resource.Resource)
	if errors.Is(err, errUnreadable) {
		return nil, false
	}
	if err != nil {
		return []string{"upstream fails: " + err.Error()}, true
	}
	ours, err := create(client, mapping, manifest, data)
	if err != nil {
		return []string{"we fail: " + err.Error()}, true
	}
	if ours != nil && ours.ErrStatus.Reason == metav1.StatusReasonForbidden {
		return nil, false // admission refused it before validation
	}
	return diff(causes(ours), causes(theirs)), true
}

// create creates an object as a dry run.
func create(client rest.Interface, mapping *meta.RESTMapping, manifest map[string]any, data []byte) (*apierrors.StatusError, error) {
	path := "/apis/" + mapping.Resource.Group + "/" + mapping.Resource.Version
	if mapping.Resource.Group == "" {
		path = "/api/" + mapping.Resource.Version
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		namespace := metav1.NamespaceDefault
		if m, ok := manifest["metadata"].(map[string]any); ok {
			if own, ok := m["namespace"].(string); ok && own != "" {
				namespace = own
			}
		}
		path += "/namespaces/" + namespace
	}
	request := client.Post().AbsPath(path, mapping.Resource.Resource).Param("dryRun", "All").Param("fieldValidation", "Ignore").
		SetHeader("Content-Type", "application/json").Body(bytes.Clone(data))
	err := request.Do(context.Background()).Error()
	var status *apierrors.StatusError
	if err == nil || errors.As(err, &status) {
		return status, nil
	}
	return nil, err
}

// causes returns the fields that a refusal names, each with the type of the error.
func causes(refused *apierrors.StatusError) map[string]bool {
	named := map[string]bool{}
	if refused == nil {
		return named
	}
	if refused.ErrStatus.Details == nil || len(refused.ErrStatus.Details.Causes) == 0 {
		named[string(refused.ErrStatus.Reason)+" "+refused.ErrStatus.Message] = true
		return named
	}
	for _, cause := range refused.ErrStatus.Details.Causes {
		named[fmt.Sprintf("%s %s", cause.Type, cause.Field)] = true
	}
	return named
}

func diff(ours, theirs map[string]bool) []string {
	var differences []string
	for _, cause := range slices.Sorted(maps.Keys(theirs)) {
		if !ours[cause] {
			differences = append(differences, "only upstream: "+cause)
		}
	}
	for _, cause := range slices.Sorted(maps.Keys(ours)) {
		if !theirs[cause] {
			differences = append(differences, "only minikcm: "+cause)
		}
	}
	return differences
}
