package podreferences

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// podOf returns a pod with one volume of a source.
func podOf(source corev1.VolumeSource) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p"}, Spec: corev1.PodSpec{Volumes: []corev1.Volume{{Name: "v", VolumeSource: source}}}}
}

func projected(sources ...corev1.VolumeProjection) corev1.VolumeSource {
	return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: sources}}
}

func local(name string) *corev1.LocalObjectReference { return &corev1.LocalObjectReference{Name: name} }

// TestVolumes lists the objects that a pod refers to by one volume, and the references for
// which a mirror pod is refused.
func TestVolumes(t *testing.T) {
	type want struct {
		secrets, maps, claims []string
		any, failed           string
	}
	for name, test := range map[string]struct {
		source corev1.VolumeSource
		want   want
	}{
		"emptyDir":              {corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}, want{}},
		"hostPath":              {corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{}}, want{}},
		"nothing known":         {corev1.VolumeSource{}, want{failed: `unknown volume type for volume  "v"`}},
		"secret":                {corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s"}}, want{secrets: []string{"s"}, any: "secrets"}},
		"secret without a name": {corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{}}, want{any: "secrets (via secret volumes)"}},
		"configMap":             {corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: *local("m")}}, want{maps: []string{"m"}, any: "configmaps"}},
		"csi":                   {corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "d"}}, want{any: "csidrivers (via CSI volumes)"}},
		"csi with a secret":     {corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "d", NodePublishSecretRef: local("s")}}, want{secrets: []string{"s"}, any: "secrets"}},
		"glusterfs":             {corev1.VolumeSource{Glusterfs: &corev1.GlusterfsVolumeSource{}}, want{any: "endpoints (via glusterFS volumes)"}},
		"claim":                 {corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}, want{claims: []string{"c"}, any: "persistentvolumeclaims"}},
		"ephemeral":             {corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}, want{claims: []string{"p-v"}, any: "persistentvolumeclaims (via ephemeral volumes)"}},
		"azureFile":             {corev1.VolumeSource{AzureFile: &corev1.AzureFileVolumeSource{SecretName: "s"}}, want{secrets: []string{"s"}, any: "secrets"}},
		"cephfs":                {corev1.VolumeSource{CephFS: &corev1.CephFSVolumeSource{SecretRef: local("s")}}, want{secrets: []string{"s"}, any: "secrets"}},
		"cinder":                {corev1.VolumeSource{Cinder: &corev1.CinderVolumeSource{SecretRef: local("s")}}, want{secrets: []string{"s"}, any: "secrets"}},
		"flexVolume":            {corev1.VolumeSource{FlexVolume: &corev1.FlexVolumeSource{SecretRef: local("s")}}, want{secrets: []string{"s"}, any: "secrets"}},
		"iscsi":                 {corev1.VolumeSource{ISCSI: &corev1.ISCSIVolumeSource{SecretRef: local("s")}}, want{secrets: []string{"s"}, any: "secrets"}},
		"rbd":                   {corev1.VolumeSource{RBD: &corev1.RBDVolumeSource{SecretRef: local("s")}}, want{secrets: []string{"s"}, any: "secrets"}},
		"scaleIO":               {corev1.VolumeSource{ScaleIO: &corev1.ScaleIOVolumeSource{SecretRef: local("s")}}, want{secrets: []string{"s"}, any: "secrets"}},
		"storageos":             {corev1.VolumeSource{StorageOS: &corev1.StorageOSVolumeSource{SecretRef: local("s")}}, want{secrets: []string{"s"}, any: "secrets"}},
		"iscsi without secret":  {corev1.VolumeSource{ISCSI: &corev1.ISCSIVolumeSource{}}, want{}},
		"projected": {
			projected(corev1.VolumeProjection{Secret: &corev1.SecretProjection{LocalObjectReference: *local("s")}}, corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: *local("m")}}),
			want{secrets: []string{"s"}, maps: []string{"m"}, any: "secrets"},
		},
		"projected downward API":  {projected(corev1.VolumeProjection{DownwardAPI: &corev1.DownwardAPIProjection{}}), want{}},
		"projected token":         {projected(corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{}}), want{any: "serviceaccounts (via projected volumes)"}},
		"projected trust bundle":  {projected(corev1.VolumeProjection{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{}}), want{any: "clustertrustbundles"}},
		"projected certificate":   {projected(corev1.VolumeProjection{PodCertificate: &corev1.PodCertificateProjection{}}), want{any: "podcertificates"}},
		"projected unknown":       {projected(corev1.VolumeProjection{}), want{failed: `unknown source for projected volume "v"`}},
		"projected nameless map":  {projected(corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{}}), want{any: "configmaps (via projected volumes)"}},
		"projected without parts": {projected(), want{}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := podOf(test.source)
			got := want{secrets: Secrets(pod), maps: ConfigMaps(pod), claims: VolumeClaims(pod)}
			resource, err := Any(pod)
			if got.any = resource; err != nil {
				got.failed = err.Error()
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestEnvironments lists the references of all sorts of containers, each once.
func TestEnvironments(t *testing.T) {
	from := func(secret, configMap string) []corev1.EnvFromSource {
		return []corev1.EnvFromSource{
			{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: *local(secret)}}, {ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: *local(configMap)}}, {},
		}
	}
	key := []corev1.EnvVar{
		{Name: "A", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: *local("key")}}},
		{Name: "B", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: *local("key-map")}}},
		{Name: "C", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{}}},
		{Name: "D", Value: "x"},
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		ImagePullSecrets:    []corev1.LocalObjectReference{*local("pull"), *local("")},
		InitContainers:      []corev1.Container{{EnvFrom: from("init", "init-map")}},
		Containers:          []corev1.Container{{Env: key}, {EnvFrom: from("init", "init-map")}},
		EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{EnvFrom: from("debug", "debug-map")}}},
	}}
	if diff := cmp.Diff([]string{"pull", "init", "key", "debug"}, Secrets(pod)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"init-map", "key-map", "debug-map"}, ConfigMaps(pod)); diff != "" {
		t.Error(diff)
	}
}

func TestResourceClaims(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{ResourceClaims: []corev1.PodResourceClaim{
		{Name: "direct", ResourceClaimName: ptr.To("a")},
		{Name: "made", ResourceClaimTemplateName: ptr.To("t")},
		{Name: "none", ResourceClaimTemplateName: ptr.To("t")},
		{Name: "unneeded", ResourceClaimTemplateName: ptr.To("t")},
	}}}
	pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "made", ResourceClaimName: ptr.To("b")}, {Name: "unneeded"}}
	pod.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: "c"}
	if diff := cmp.Diff([]string{"a", "b", "c"}, ResourceClaims(pod)); diff != "" {
		t.Error(diff)
	}
	if resource, err := Any(pod); resource != "resourceclaims" || err != nil {
		t.Errorf("%q, %v", resource, err)
	}
	if resource, _ := Any(&corev1.Pod{Spec: corev1.PodSpec{ServiceAccountName: "a"}}); resource != "serviceaccounts" {
		t.Errorf("%q", resource)
	}
}

// TestVolumeSecrets lists the Secrets of persistent volumes whose claim is in the namespace c.
func TestVolumeSecrets(t *testing.T) {
	ref := func(namespace, name string) *corev1.SecretReference {
		return &corev1.SecretReference{Namespace: namespace, Name: name}
	}
	for name, test := range map[string]struct {
		source corev1.PersistentVolumeSource
		want   string
	}{
		"hostPath": {corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{}}, "[]"},
		"csi": {corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
			NodePublishSecretRef: ref("a", "publish"), NodeStageSecretRef: ref("a", "stage"), NodeExpandSecretRef: ref("", "expand"),
			ControllerPublishSecretRef: ref("a", "controller"), ControllerExpandSecretRef: ref("a", "controller"),
		}}, "[a/publish a/stage /expand]"},
		"azureFile of the claim": {corev1.PersistentVolumeSource{AzureFile: &corev1.AzureFilePersistentVolumeSource{SecretName: "s"}}, "[c/s]"},
		"azureFile":              {corev1.PersistentVolumeSource{AzureFile: &corev1.AzureFilePersistentVolumeSource{SecretName: "s", SecretNamespace: ptr.To("a")}}, "[a/s]"},
		"cephfs of the claim":    {corev1.PersistentVolumeSource{CephFS: &corev1.CephFSPersistentVolumeSource{SecretRef: ref("", "s")}}, "[c/s]"},
		"cephfs":                 {corev1.PersistentVolumeSource{CephFS: &corev1.CephFSPersistentVolumeSource{SecretRef: ref("a", "s")}}, "[a/s]"},
		"cinder":                 {corev1.PersistentVolumeSource{Cinder: &corev1.CinderPersistentVolumeSource{SecretRef: ref("a", "s")}}, "[a/s]"},
		"flexVolume":             {corev1.PersistentVolumeSource{FlexVolume: &corev1.FlexPersistentVolumeSource{SecretRef: ref("", "s")}}, "[c/s]"},
		"rbd":                    {corev1.PersistentVolumeSource{RBD: &corev1.RBDPersistentVolumeSource{SecretRef: ref("", "s")}}, "[c/s]"},
		"scaleIO":                {corev1.PersistentVolumeSource{ScaleIO: &corev1.ScaleIOPersistentVolumeSource{SecretRef: ref("", "s")}}, "[c/s]"},
		"iscsi":                  {corev1.PersistentVolumeSource{ISCSI: &corev1.ISCSIPersistentVolumeSource{SecretRef: ref("", "s")}}, "[c/s]"},
		"iscsi without one":      {corev1.PersistentVolumeSource{ISCSI: &corev1.ISCSIPersistentVolumeSource{}}, "[]"},
		"storageos":              {corev1.PersistentVolumeSource{StorageOS: &corev1.StorageOSPersistentVolumeSource{SecretRef: &corev1.ObjectReference{Namespace: "a", Name: "s"}}}, "[a/s]"},
		"storageos without one":  {corev1.PersistentVolumeSource{StorageOS: &corev1.StorageOSPersistentVolumeSource{}}, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			volume := &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: test.source, ClaimRef: &corev1.ObjectReference{Namespace: "c", Name: "c"}}}
			if got := fmt.Sprint(VolumeSecrets(volume)); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
	unclaimed := &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{RBD: &corev1.RBDPersistentVolumeSource{SecretRef: ref("", "s")}}}}
	if diff := cmp.Diff([]types.NamespacedName{{Name: "s"}}, VolumeSecrets(unclaimed)); diff != "" {
		t.Error(diff)
	}
}
