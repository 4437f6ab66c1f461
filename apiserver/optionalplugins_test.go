package apiserver_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// forbidden fails the test unless err is Forbidden for the reason.
func forbidden(t testing.TB, err error, reason string) {
	t.Helper()
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "is forbidden: "+reason) {
		t.Errorf("%v\nwant: forbidden: %s", err, reason)
	}
}

func TestNamespaceAutoProvision(t *testing.T) {
	h := start(t, withPlugins("NamespaceAutoProvision"))
	maps := h.client().CoreV1().ConfigMaps("new")
	cm := configMap("a")
	cm.Namespace = "new"
	if _, err := maps.Create(h.ctx, cm, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); !apierrors.IsNotFound(err) {
		t.Errorf("dry run: %v", err)
	}
	must(maps.Create(h.ctx, cm, metav1.CreateOptions{}))(t)
	namespace := must(h.client().CoreV1().Namespaces().Get(h.ctx, "new", metav1.GetOptions{}))(t)
	if namespace.Status.Phase != corev1.NamespaceActive || namespace.Labels["kubernetes.io/metadata.name"] != "new" {
		t.Errorf("%+v", namespace)
	}
}

func TestAlwaysPullImages(t *testing.T) {
	h := start(t, withPlugins("AlwaysPullImages"))
	p := pod("p")
	p.Spec.Containers[0].ImagePullPolicy = corev1.PullNever
	p.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "a"}}
	p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "a", PullPolicy: corev1.PullNever}}}}
	made := must(h.client().CoreV1().Pods("default").Create(h.ctx, p, metav1.CreateOptions{}))(t)
	if made.Spec.Containers[0].ImagePullPolicy != corev1.PullAlways || made.Spec.InitContainers[0].ImagePullPolicy != corev1.PullAlways ||
		made.Spec.Volumes[0].Image.PullPolicy != corev1.PullAlways {
		t.Errorf("%+v", made.Spec)
	}
}

func TestPodNodeSelector(t *testing.T) {
	h := start(t, withPlugins("PodNodeSelector"), withConfig(t, configHead+`- name: PodNodeSelector
  configuration:
    podNodeSelectorPluginConfig:
      clusterDefaultNodeSelector: pool=shared
      limited: pool=shared,disk=ssd
`))
	h.secured(t, "annotated", nil)
	h.secured(t, "limited", nil)
	core := h.client().CoreV1()
	must(core.Namespaces().Patch(h.ctx, "annotated", types.MergePatchType, []byte(`{"metadata":{"annotations":{"scheduler.alpha.kubernetes.io/node-selector":"pool=own"}}}`), metav1.PatchOptions{}))(t)
	create := func(namespace string, selector map[string]string) (map[string]string, error) {
		p := pod("p")
		p.Namespace, p.Name, p.GenerateName, p.Spec.NodeSelector = namespace, "", "p-", selector
		made, err := core.Pods(namespace).Create(h.ctx, p, metav1.CreateOptions{})
		if err != nil {
			return nil, err
		}
		return made.Spec.NodeSelector, nil
	}
	for _, test := range []struct {
		namespace, sent, want, refused string
	}{
		{"default", "", "map[pool:shared]", ""},
		{"default", "disk=hdd", "map[disk:hdd pool:shared]", ""},
		{"annotated", "", "map[pool:own]", ""},
		{"annotated", "pool=shared", "", "pod node label selector conflicts with its namespace node label selector"},
		{"limited", "disk=ssd", "map[disk:ssd pool:shared]", ""},
		{"limited", "disk=hdd", "", "pod node label selector labels conflict with its namespace whitelist"},
	} {
		var sent map[string]string
		if key, value, ok := strings.Cut(test.sent, "="); ok {
			sent = map[string]string{key: value}
		}
		got, err := create(test.namespace, sent)
		if test.refused != "" {
			forbidden(t, err, test.refused)
		} else if err != nil || fmt.Sprint(got) != test.want {
			t.Errorf("%s %s: %v %v", test.namespace, test.sent, got, err)
		}
	}
}

func TestPodTolerationRestriction(t *testing.T) {
	h := start(t, withPlugins("PodTolerationRestriction", "-DefaultTolerationSeconds"))
	core := h.client().CoreV1()
	must(core.Namespaces().Patch(h.ctx, "default", types.MergePatchType, []byte(`{"metadata":{"annotations":{
		"scheduler.alpha.kubernetes.io/defaultTolerations":"[{\"key\":\"team\",\"operator\":\"Equal\",\"value\":\"a\"}]",
		"scheduler.alpha.kubernetes.io/tolerationsWhitelist":"[{\"key\":\"team\",\"operator\":\"Exists\"}]"}}}`), metav1.PatchOptions{}))(t)
	made := must(core.Pods("default").Create(h.ctx, pod("p"), metav1.CreateOptions{}))(t)
	if len(made.Spec.Tolerations) != 1 || made.Spec.Tolerations[0].Value != "a" {
		t.Errorf("%v", made.Spec.Tolerations)
	}
	other := pod("q")
	other.Spec.Tolerations = []corev1.Toleration{{Key: "other", Operator: corev1.TolerationOpExists}}
	_, err := core.Pods("default").Create(h.ctx, other, metav1.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), "pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist") {
		t.Errorf("%v", err)
	}
}

func TestExtendedResourceToleration(t *testing.T) {
	h := start(t, withPlugins("ExtendedResourceToleration", "-DefaultTolerationSeconds"))
	p := pod("p")
	gpu := corev1.ResourceList{"example.com/gpu": resource.MustParse("1"), corev1.ResourceCPU: resource.MustParse("1")}
	p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: gpu, Limits: gpu}
	made := must(h.client().CoreV1().Pods("default").Create(h.ctx, p, metav1.CreateOptions{}))(t)
	want := corev1.Toleration{Key: "example.com/gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}
	if !slices.Equal(made.Spec.Tolerations, []corev1.Toleration{want}) {
		t.Errorf("%v", made.Spec.Tolerations)
	}
}

func TestHardAntiAffinityTopology(t *testing.T) {
	h := start(t, withPlugins("LimitPodHardAntiAffinityTopology"))
	p := pod("p")
	term := corev1.PodAffinityTerm{TopologyKey: corev1.LabelTopologyZone, LabelSelector: &metav1.LabelSelector{}}
	p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}}
	_, err := h.client().CoreV1().Pods("default").Create(h.ctx, p, metav1.CreateOptions{})
	forbidden(t, err, "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey topology.kubernetes.io/zone but only key kubernetes.io/hostname is allowed")
}

func TestDenyServiceExternalIPs(t *testing.T) {
	h := start(t, withPlugins("DenyServiceExternalIPs"))
	services := h.client().CoreV1().Services("default")
	service := &corev1.Service{ObjectMeta: named("s"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}, ExternalIPs: []string{"192.0.2.1"}}}
	_, err := services.Create(h.ctx, service, metav1.CreateOptions{})
	forbidden(t, err, "Use of external IPs is denied by admission control")
	service.Spec.ExternalIPs = nil
	must(services.Create(h.ctx, service, metav1.CreateOptions{}))(t)
}

func TestOwnerReferencesPermissions(t *testing.T) {
	h := start(t, withPlugins("OwnerReferencesPermissionEnforcement"))
	h.createRules(
		&rbacv1.Role{ObjectMeta: named("write"), Rules: []rbacv1.PolicyRule{{Verbs: []string{"create", "update", "get"}, APIGroups: []string{""}, Resources: []string{"configmaps"}}}},
		&rbacv1.RoleBinding{ObjectMeta: named("write"), RoleRef: roleRef("Role", "write"), Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "jane"}}},
	)
	owner := must(h.client().CoreV1().ConfigMaps("default").Create(h.ctx, configMap("owner"), metav1.CreateOptions{}))(t)
	maps := h.as("jane").CoreV1().ConfigMaps("default")
	ref := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: owner.UID}
	owned := configMap("a")
	owned.OwnerReferences = []metav1.OwnerReference{ref}
	made := must(maps.Create(h.ctx, owned, metav1.CreateOptions{}))(t)
	made.OwnerReferences = nil
	_, err := maps.Update(h.ctx, made, metav1.UpdateOptions{})
	forbidden(t, err, "cannot set an ownerRef on a resource you can't delete: ")
	blocking := configMap("b")
	ref.BlockOwnerDeletion = ptr.To(true)
	blocking.OwnerReferences = []metav1.OwnerReference{ref}
	_, err = maps.Create(h.ctx, blocking, metav1.CreateOptions{})
	forbidden(t, err, "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: ")
	ref.Kind = "Foo"
	blocking.OwnerReferences = []metav1.OwnerReference{ref}
	_, err = maps.Create(h.ctx, blocking, metav1.CreateOptions{})
	forbidden(t, err, `cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion v1 Kind Foo: no matches for kind "Foo" in version "v1"`)
	h.createRules(
		&rbacv1.Role{ObjectMeta: named("finalize"), Rules: rules("update", "", "configmaps/finalizers")},
		&rbacv1.RoleBinding{ObjectMeta: named("finalize"), RoleRef: roleRef("Role", "finalize"), Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "jane"}}},
	)
	ref.Kind = "ConfigMap"
	blocking.OwnerReferences = []metav1.OwnerReference{ref}
	must(maps.Create(h.ctx, blocking, metav1.CreateOptions{}))(t)
}

func TestEventRateLimit(t *testing.T) {
	const config = configHead + `- name: EventRateLimit
  configuration:
    apiVersion: eventratelimit.admission.k8s.io/v1alpha1
    kind: Configuration
    limits: [{type: Namespace, qps: 1, burst: 2}]
`
	h, v := startVirtual(t, withPlugins("EventRateLimit"), withConfig(t, config))
	events := h.client().CoreV1().Events("default")
	create := func(name string) error {
		_, err := events.Create(h.ctx, &corev1.Event{ObjectMeta: named(name), InvolvedObject: corev1.ObjectReference{Namespace: "default", Name: "x"}}, metav1.CreateOptions{})
		return err
	}
	for _, name := range []string{"a", "b"} {
		if err := create(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := create("c"); !apierrors.IsTooManyRequests(err) || !strings.Contains(err.Error(), "limit reached on type Namespace for key default") {
		t.Errorf("%v", err)
	}
	h.advance(v, time.Second)
	if err := create("c"); err != nil {
		t.Error(err)
	}
}

func TestPodTopologyLabels(t *testing.T) {
	h := start(t)
	core := h.client().CoreV1()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{corev1.LabelTopologyZone: "z1", corev1.LabelTopologyRegion: "r1", "other": "x"}}}
	must(core.Nodes().Create(h.ctx, node, metav1.CreateOptions{}))(t)
	must(core.Pods("default").Create(h.ctx, pod("bound"), metav1.CreateOptions{}))(t)
	binding := &corev1.Binding{ObjectMeta: named("bound"), Target: corev1.ObjectReference{Kind: "Node", Name: "n"}}
	if err := core.Pods("default").Bind(h.ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	direct := pod("direct")
	direct.Spec.NodeName = "n"
	must(core.Pods("default").Create(h.ctx, direct, metav1.CreateOptions{}))(t)
	for _, name := range []string{"bound", "direct"} {
		got := must(core.Pods("default").Get(h.ctx, name, metav1.GetOptions{}))(t)
		if fmt.Sprint(got.Labels) != "map[topology.kubernetes.io/region:r1 topology.kubernetes.io/zone:z1]" {
			t.Errorf("%s: %v", name, got.Labels)
		}
	}
}

func TestPodResizeBeyondTheNode(t *testing.T) {
	h := start(t)
	core := h.client().CoreV1()
	node := must(core.Nodes().Create(h.ctx, &corev1.Node{ObjectMeta: named("n")}, metav1.CreateOptions{}))(t)
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("1Gi")}
	must(core.Nodes().UpdateStatus(h.ctx, node, metav1.UpdateOptions{}))(t)
	p := pod("p")
	p.Spec.NodeName = "n"
	p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	must(core.Pods("default").Create(h.ctx, p, metav1.CreateOptions{}))(t)
	patch := func(cpu string) error {
		body := fmt.Sprintf(`{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":%q}}}]}}`, cpu)
		_, err := core.Pods("default").Patch(h.ctx, "p", types.StrategicMergePatchType, []byte(body), metav1.PatchOptions{}, "resize")
		return err
	}
	forbidden(t, patch("3"), "node didn't have enough allocatable resources: cpu, requested: 3000, allocatable: 2000")
	if err := patch("2"); err != nil {
		t.Error(err)
	}
}

func TestClusterTrustBundleAttest(t *testing.T) {
	h := start(t)
	ca := must(authority())(t)
	bundle := &certificatesv1.ClusterTrustBundle{
		ObjectMeta: named("example.com:s:x"), Spec: certificatesv1.ClusterTrustBundleSpec{SignerName: "example.com/s", TrustBundle: string(ca.CertPEM())},
	}
	h.createRules(
		&rbacv1.ClusterRole{ObjectMeta: named("bundles"), Rules: rules("create", "certificates.k8s.io", "clustertrustbundles")},
		&rbacv1.ClusterRoleBinding{ObjectMeta: named("bundles"), RoleRef: roleRef("ClusterRole", "bundles"), Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "jane"}}},
	)
	bundles := h.as("jane").CertificatesV1().ClusterTrustBundles()
	_, err := bundles.Create(h.ctx, bundle, metav1.CreateOptions{})
	forbidden(t, err, `user not permitted to attest for signerName "example.com/s"`)
	h.createRules(
		&rbacv1.ClusterRole{ObjectMeta: named("attest"), Rules: rules("attest", "certificates.k8s.io", "signers", "example.com/*")},
		&rbacv1.ClusterRoleBinding{ObjectMeta: named("attest"), RoleRef: roleRef("ClusterRole", "attest"), Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "jane"}}},
	)
	must(bundles.Create(h.ctx, bundle, metav1.CreateOptions{}))(t)
}
