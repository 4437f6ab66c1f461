package minikcmapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/viewapi"
	"minikcm.dev/minikcm/minikcmtest"
)

func configKindsCluster(t *testing.T) *minikcmtest.Cluster {
	t.Helper()
	return minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.API.Extensions = []minikcm.Extension{viewapi.Extension()}
	}))
}

const shopProfile = `
images: ["*/shop:*"]
entrypoint: [/shop, --serve]
programs: {shop: "echo up; sleep infinity"}
readyDelay: 5s
server: {listen: [{port: 80, routes: [{path: /, body: hello}]}]}
`

// TestImageProfile: a profile is the ConfigMap of its name, whichever of both a client writes.
func TestImageProfile(t *testing.T) {
	t.Parallel()
	cluster := configKindsCluster(t)
	profiles, maps := kindClient(t, cluster.Cluster, "imageprofiles"), cluster.Client().CoreV1().ConfigMaps(metav1.NamespaceSystem)
	create(t, profiles, objectOf(t, "ImageProfile", "shop", shopProfile))
	c, err := maps.Get(t.Context(), "shop", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"image": "*/shop:*", "entrypoint": "/shop\n--serve", "program.shop": "echo up; sleep infinity", "ready-delay": "5s"}
	for key, value := range want {
		if c.Data[key] != value {
			t.Errorf("the key %s is %q, not %q", key, c.Data[key], value)
		}
	}
	o, err := profiles.Get(t.Context(), "shop", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := o.GetResourceVersion(); got == "" {
		t.Error("it has no resourceVersion")
	}
	listen, _, _ := unstructured.NestedSlice(o.Object, "spec", "server", "listen")
	if delay, _, _ := unstructured.NestedString(o.Object, "spec", "readyDelay"); delay != "5s" || len(listen) != 1 {
		t.Errorf("its spec is %v", o.Object["spec"])
	}

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "registry.example.com/shop:1"}}}}
	if _, err := cluster.Client().CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually("the log of the program", func(ctx context.Context, client kubernetes.Interface) error {
		return logHas(ctx, client, "shop", "up")
	})

	c.Data["exit-code"] = "4"
	if _, err := maps.Update(t.Context(), c, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, profiles, "shop", func(o *unstructured.Unstructured) bool {
		code, _, _ := unstructured.NestedInt64(o.Object, "spec", "exitCode")
		return code == 4
	})
	if _, err := profiles.Patch(t.Context(), "shop", types.MergePatchType, []byte(`{"spec":{"exitCode":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if c, err := maps.Get(t.Context(), "shop", metav1.GetOptions{}); err != nil || c.Data["exit-code"] != "" || c.Data["ready-delay"] != "5s" {
		t.Errorf("after the patch: %v, %v", c.Data, err)
	}
	if err := profiles.Delete(t.Context(), "shop", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := maps.Get(t.Context(), "shop", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the ConfigMap after the deletion: %v", err)
	}
}

// TestStaticPodFolder: the pods of a folder run on the nodes that its selector selects.
func TestStaticPodFolder(t *testing.T) {
	t.Parallel()
	cluster := configKindsCluster(t)
	folders := kindClient(t, cluster.Cluster, "staticpodfolders")
	create(t, folders, objectOf(t, "StaticPodFolder", "agents", `
nodeSelector: kubernetes.io/os=linux
manifests:
  agent.yaml: {apiVersion: v1, kind: Pod, metadata: {name: agent, namespace: kube-system}, spec: {containers: [{name: c, image: agent}]}}
`))
	cluster.Eventually("the mirror pod", func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.CoreV1().Pods(metav1.NamespaceSystem).Get(ctx, "agent-node-0", metav1.GetOptions{})
		return err
	})
	if err := folders.Delete(t.Context(), "agents", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually("the mirror pod to be gone", func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.CoreV1().Pods(metav1.NamespaceSystem).Get(ctx, "agent-node-0", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errStillThere
	})
}

// TestBadConfigKinds: what the nodes could not read is refused, and makes no ConfigMap.
func TestBadConfigKinds(t *testing.T) {
	t.Parallel()
	cluster := configKindsCluster(t)
	taken := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "taken"}}
	if _, err := cluster.Client().CoreV1().ConfigMaps(metav1.NamespaceSystem).Create(t.Context(), taken, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for kind, specs := range map[string][]string{
		"ImageProfile": {
			"{}", "{images: []}", "{images: [a], content: some}", "{images: [a], exitAfter: soon}", "{images: [a], exitCode: 300}",
			"{images: [a], size: large}", "{images: [a], server: {listen: 5}}", "{images: [a], http: what}",
		},
		"StaticPodFolder": {
			"{}", "{manifests: {a.yaml: {kind: Pod}}}", "{nodeSelector: '!!', manifests: {}}",
			"{manifests: {a.yaml: {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: 5}}}}",
		},
	} {
		objects := kindClient(t, cluster.Cluster, map[string]string{"ImageProfile": "imageprofiles", "StaticPodFolder": "staticpodfolders"}[kind])
		for _, spec := range specs {
			for _, dryRun := range [][]string{nil, {metav1.DryRunAll}} {
				if _, err := objects.Create(t.Context(), objectOf(t, kind, "bad", spec), metav1.CreateOptions{DryRun: dryRun}); !apierrors.IsInvalid(err) {
					t.Errorf("%s %s %v: %v", kind, spec, dryRun, err)
				}
			}
		}
		good := map[string]string{"ImageProfile": "{images: [a]}", "StaticPodFolder": "{manifests: {}}"}[kind]
		if _, err := objects.Create(t.Context(), objectOf(t, kind, "taken", good), metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
			t.Errorf("%s with the name of another ConfigMap: %v", kind, err)
		}
	}
	for spec, field := range map[string]string{
		"{images: [a], server: {listen: [{port: 80, routes: [{path: /}, {body: '${a}'}]}]}}": "spec.server.listen[0].routes[1].body",
		"{images: [a], server: {listen: [{port: 80, routes: [{bdy: a}]}]}}":                  "spec.server.listen[0].routes[0].bdy",
		"{images: [a], programs: {a: 'if'}}":                                                 "spec.programs.a",
	} {
		objects := kindClient(t, cluster.Cluster, "imageprofiles")
		if _, err := objects.Create(t.Context(), objectOf(t, "ImageProfile", "bad", spec), metav1.CreateOptions{}); !hasCause(err, field) || strings.Contains(err.Error(), ": line") && !strings.Contains(spec, "if") {
			t.Errorf("%s: %v", spec, err)
		}
	}
	if _, err := kindClient(t, cluster.Cluster, "nodepools").Create(t.Context(), objectOf(t, "NodePool", "bad", "{capacity: {cpu: -8}}"), metav1.CreateOptions{}); !hasCause(err, "spec.capacity.cpu") {
		t.Errorf("a negative amount: %v", err)
	}
	if _, err := cluster.Client().CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(t.Context(), "bad", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a ConfigMap was made: %v", err)
	}
}

var errStillThere = errors.New("it is there")

// logHas returns an error unless the log of a pod has a line.
func logHas(ctx context.Context, client kubernetes.Interface, pod, line string) error {
	log, err := client.CoreV1().Pods(metav1.NamespaceDefault).GetLogs(pod, &corev1.PodLogOptions{}).DoRaw(ctx)
	if err == nil && !slices.Contains(strings.Split(string(log), "\n"), line) {
		err = fmt.Errorf("the log is %q", log)
	}
	return err
}

// hasCause reports whether an error names a field.
func hasCause(err error, field string) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Field == field })
}
