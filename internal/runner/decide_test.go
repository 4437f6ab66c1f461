package runner

import (
	"archive/tar"
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

func controlledBy(kind, uid string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{Kind: kind, UID: types.UID(uid), Controller: ptr.To(true)}}
}

func replicaSet(uid, deployment, revision string) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		UID: types.UID(uid), OwnerReferences: controlledBy("Deployment", deployment), Annotations: map[string]string{revisionAnnotation: revision},
	}}
}

func runningPod(name, set string, age time.Duration, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(name), OwnerReferences: controlledBy("ReplicaSet", set),
			CreationTimestamp: metav1.NewTime(time.Unix(1e9, 0).Add(-age)),
		},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
			{Name: "c", ContainerID: "run-" + name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
		}},
	}
	for _, f := range change {
		f(pod)
	}
	return pod
}

func waiting(pod *corev1.Pod) {
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}
}

func terminating(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{} }

func TestChoose(t *testing.T) {
	t.Parallel()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{UID: "d"}}
	sets := []*appsv1.ReplicaSet{replicaSet("old", "d", "9"), replicaSet("new", "d", "10"), replicaSet("other", "x", "11")}
	for name, tt := range map[string]struct {
		present string
		pods    []*corev1.Pod
		want    string
	}{
		"none":                   {},
		"the newest revision":    {pods: []*corev1.Pod{runningPod("a", "old", time.Hour), runningPod("b", "new", 0)}, want: "b"},
		"the oldest of it":       {pods: []*corev1.Pod{runningPod("a", "new", 0), runningPod("b", "new", time.Hour)}, want: "b"},
		"the first name":         {pods: []*corev1.Pod{runningPod("b", "new", 0), runningPod("a", "new", 0)}, want: "a"},
		"another Deployment's":   {pods: []*corev1.Pod{runningPod("a", "other", 0)}},
		"not running":            {pods: []*corev1.Pod{runningPod("a", "new", 0, waiting)}},
		"being deleted":          {present: "a", pods: []*corev1.Pod{runningPod("a", "new", 0, terminating), runningPod("b", "old", 0)}, want: "b"},
		"the present one":        {present: "a", pods: []*corev1.Pod{runningPod("a", "old", 0), runningPod("b", "new", 0)}, want: "a"},
		"the present, restarted": {present: "a", pods: []*corev1.Pod{runningPod("b", "new", 0), runningPod("a", "new", 0, waiting)}, want: "a"},
		"evicted":                {present: "a", pods: []*corev1.Pod{runningPod("a", "new", 0, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })}},
	} {
		got := ""
		if pod := choose(types.UID(tt.present), deployment, sets, tt.pods, "c"); pod != nil {
			got = pod.Name
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	for name, want := range map[string]string{"c": "run-a", "other": ""} {
		if got := runOf(runningPod("a", "new", 0), name); got != want {
			t.Errorf("the run of %s is %q, want %q", name, got, want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	got := environment(
		[]string{"PATH=/usr/bin", "HOME=/home/jane", "KUBECONFIG=/home/jane/config", "KUBERNETES_SERVICE_HOST=1.2.3.4", "EDITOR=vi", "A=machine"},
		[]string{"PATH=/bin", "HOME=/root", "A=container", "B=two\nlines", "KUBERNETES_SERVICE_HOST=10.96.0.1", "KUBERNETES_PORT_443_TCP=tcp://10.96.0.1:443", ""},
		map[string]string{"KUBECONFIG": "/tmp/k", "KUBERNETES_SERVICE_HOST": "127.0.0.1"},
	)
	want := []string{
		"A=container", "B=two\nlines", "EDITOR=vi", "HOME=/home/jane", "KUBECONFIG=/tmp/k", "KUBERNETES_PORT_443_TCP=tcp://10.96.0.1:443",
		"KUBERNETES_SERVICE_HOST=127.0.0.1", "PATH=/usr/bin",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for server, want := range map[string]string{"https://127.0.0.1:6443": "127.0.0.1 6443", "https://api.example.com": "api.example.com 443", "https://[::1]:6443": "::1 6443", "nowhere": " "} {
		vars := apiVariables(server)
		if got := vars["KUBERNETES_SERVICE_HOST"] + " " + vars["KUBERNETES_SERVICE_PORT"]; got != want {
			t.Errorf("%s: %q, want %q", server, got, want)
		}
	}
}

func TestAddressesOf(t *testing.T) {
	t.Parallel()
	template := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}}}},
	}
	service := func(app string, ports ...corev1.ServicePort) *corev1.Service {
		return &corev1.Service{Spec: corev1.ServiceSpec{Selector: map[string]string{"app": app}, Ports: ports}}
	}
	web := corev1.ServicePort{Port: 80, TargetPort: intstr.FromString("http")}
	for name, tt := range map[string]struct {
		service *corev1.Service
		want    string
	}{
		"one port":         {service("web", web), "127.0.0.1:8080"},
		"named and mapped": {service("web", corev1.ServicePort{Name: "a", Port: 1}, corev1.ServicePort{Name: "b", Port: 443, TargetPort: intstr.FromInt32(9443)}), "a=127.0.0.1:1,b=127.0.0.1:19443"},
		"no such port":     {service("web", corev1.ServicePort{Port: 80, TargetPort: intstr.FromString("x")}), ""},
		"UDP":              {service("web", corev1.ServicePort{Port: 53, Protocol: corev1.ProtocolUDP}), ""},
		"another's pods":   {service("db", web), ""},
	} {
		if got := addressesOf(tt.service, template, map[int32]int32{9443: 19443}); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestPodAddresses(t *testing.T) {
	t.Parallel()
	get := func(port intstr.IntOrString) *corev1.Probe {
		return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: port}}}
	}
	tcp := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(9443)}}}
	health := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 7000}}}
	command := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}}
	for name, tt := range map[string]struct {
		startup, readiness, liveness *corev1.Probe
		want                         string
	}{
		"no probes":  {nil, nil, nil, "80=127.0.0.1:80,8082=127.0.0.1:8082"},
		"a command":  {nil, command, command, "80=127.0.0.1:80,8082=127.0.0.1:8082"},
		"one port":   {nil, get(intstr.FromInt32(8081)), get(intstr.FromInt32(8081)), "80=127.0.0.1:80,8081=127.0.0.1:8081,8082=127.0.0.1:8082"},
		"by name":    {nil, get(intstr.FromString("health")), nil, "80=127.0.0.1:80,8082=127.0.0.1:8082"},
		"no name":    {nil, get(intstr.FromString("none")), nil, "80=127.0.0.1:80,8082=127.0.0.1:8082"},
		"another":    {nil, tcp, nil, "80=127.0.0.1:80,8082=127.0.0.1:8082,9443=127.0.0.1:19443"},
		"everything": {health, tcp, get(intstr.FromInt32(8081)), "80=127.0.0.1:80,7000=127.0.0.1:7000,8081=127.0.0.1:8081,8082=127.0.0.1:8082,9443=127.0.0.1:19443"},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "other", ReadinessProbe: get(intstr.FromInt32(1))}, {
			Name: "web", Ports: []corev1.ContainerPort{{Name: "health", ContainerPort: 8082}, {ContainerPort: 53, Protocol: corev1.ProtocolUDP}},
			StartupProbe: tt.startup, ReadinessProbe: tt.readiness, LivenessProbe: tt.liveness,
		}}}}
		services := []*corev1.Service{
			{Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}, {Port: 81, TargetPort: intstr.FromString("none")}}}},
			{Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "db"}, Ports: []corev1.ServicePort{{Port: 5432}}}},
		}
		if got := podAddresses(pod, "web", services, map[int32]int32{9443: 19443}); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func archive(t *testing.T, files map[string]string) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{Name: name, Mode: 0o4, Size: int64(len(files[name])), Typeflag: tar.TypeReg}
		if strings.HasSuffix(name, "/") {
			header.Typeflag, header.Mode = tar.TypeDir, 0o755
		}
		if strings.HasSuffix(name, ".link") {
			header.Typeflag, header.Linkname, header.Size = tar.TypeSymlink, "/etc/passwd", 0
		}
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			_, _ = w.Write([]byte(files[name])) // to memory
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

func TestUnpack(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "root")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(root, 0o700))
	kept, err := unpack(archive(t, map[string]string{"etc/app/": "", "etc/app/a": "1", "etc/app/b": "2", "../../outside": "3", "/abs": "4", "etc/app/x.link": ""}), root)
	must(err)
	must(os.WriteFile(filepath.Join(root, "own"), []byte("of the command"), 0o600))
	must(prune(root, []string{"etc/app", "missing"}, kept))
	before, err := os.Stat(filepath.Join(root, "etc/app/a"))
	must(err)
	kept, err = unpack(archive(t, map[string]string{"etc/app/a": "1", "etc/app/c": "5"}), root)
	must(err)
	must(prune(root, []string{"etc/app"}, kept))
	after, err := os.Stat(filepath.Join(root, "etc/app/a"))
	must(err)
	if !os.SameFile(before, after) || after.Mode().Perm() != 0o404 {
		t.Errorf("a file that has not changed was replaced, or has the mode %v", after.Mode())
	}
	var got []string
	must(filepath.Walk(filepath.Dir(root), func(file string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			name, _ := filepath.Rel(root, file)
			got = append(got, name)
		}
		return err
	}))
	if diff := cmp.Diff([]string{"abs", "etc/app/a", "etc/app/c", "outside", "own"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestOwner(t *testing.T) {
	t.Parallel()
	for owner, want := range map[string]bool{
		ownerName("here", os.Getpid()): false, "there/1": false, "here/0": false, "here/x": false, "here": false, "here/2147483646": true,
	} {
		if got := hasEnded(owner, "here"); got != want {
			t.Errorf("%s has ended: %v", owner, got)
		}
	}
}
