package decide

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// The annotations of bound claims and volumes.
const (
	done         = "pv.kubernetes.io/bind-completed"
	byController = "pv.kubernetes.io/bound-by-controller"
	provisioner  = "volume.kubernetes.io/storage-provisioner"
	selectedNode = "volume.kubernetes.io/selected-node"
)

func claim(changes ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "c", UID: "uid-c", Annotations: map[string]string{}},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: ptr.To(""), VolumeMode: ptr.To(corev1.PersistentVolumeFilesystem),
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")}},
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
	}
	for _, change := range changes {
		change(c)
	}
	return c
}

func class(name string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = &name }
}

func volumeName(name string, annotations ...string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) {
		c.Spec.VolumeName = name
		for _, a := range annotations {
			c.Annotations[a] = "yes"
		}
	}
}

func boundClaim(c *corev1.PersistentVolumeClaim) {
	volumeName("v", done, byController)(c)
	c.Status = corev1.PersistentVolumeClaimStatus{
		Phase: corev1.ClaimBound, AccessModes: c.Spec.AccessModes, Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("5Gi")},
	}
}

func volume(name, size string, changes ...func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)},
			VolumeMode: ptr.To(corev1.PersistentVolumeFilesystem), PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeAvailable},
	}
	for _, change := range changes {
		change(v)
	}
	return v
}

func ref(name, uid string, annotations ...string) func(*corev1.PersistentVolume) {
	return func(v *corev1.PersistentVolume) {
		v.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: "a", Name: name, UID: types.UID(uid)}
		for _, a := range annotations {
			v.Annotations[a] = "yes"
		}
	}
}

func phase(p corev1.PersistentVolumePhase) func(*corev1.PersistentVolume) {
	return func(v *corev1.PersistentVolume) { v.Status.Phase = p }
}

func storageClass(name, provisioner string, mode storagev1.VolumeBindingMode, annotations map[string]string, age int) *storagev1.StorageClass {
	return &storagev1.StorageClass{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Annotations: annotations, CreationTimestamp: metav1.NewTime(time.Unix(int64(1000-age), 0))},
		Provisioner: provisioner, VolumeBindingMode: &mode,
	}
}

// text describes a step in a line.
func text(step Step) string {
	var parts []string
	switch o := step.Object.(type) {
	case *corev1.PersistentVolume:
		parts = append(parts, fmt.Sprintf("%s %s", []string{"", "create", "update", "status", "delete"}[step.Write], o.Name), string(o.Status.Phase))
		if r := o.Spec.ClaimRef; r != nil {
			parts = append(parts, fmt.Sprintf("for %s(%s)", r.Name, r.UID))
		}
		if o.Annotations[byController] != "" {
			parts = append(parts, "by controller")
		}
	case *corev1.PersistentVolumeClaim:
		size := o.Status.Capacity[corev1.ResourceStorage]
		parts = append(parts, fmt.Sprintf("%s claim", []string{"", "create", "update", "status"}[step.Write]), string(o.Status.Phase), "size "+size.String(), "names "+o.Spec.VolumeName,
			"class "+ptr.Deref(o.Spec.StorageClassName, "<none>"))
		for _, a := range []string{done, byController, provisioner} {
			if o.Annotations[a] != "" {
				parts = append(parts, a[strings.LastIndex(a, "/")+1:])
			}
		}
	case *corev1.Pod:
		parts = append(parts, fmt.Sprintf("%s pod %s/%s", []string{"", "create", "update", "status", "delete"}[step.Write], o.Namespace, o.Name))
	}
	for _, e := range step.Events {
		parts = append(parts, e.Reason+": "+e.Message)
	}
	return strings.Join(parts, ", ")
}

const (
	reserve   = "update v, Available, for c(uid-c), by controller"
	noClass   = "FailedBinding: no persistent volumes available for this claim and no storage class is set"
	misbound  = "status claim, Lost, size 0, names v, class , bind-completed, bound-by-controller, ClaimMisbound: Two claims are bound to the same volume, this one is bound incorrectly"
	lostClaim = "status claim, Lost, size 0, names v, class , bind-completed, bound-by-controller, ClaimLost: Bound claim has lost its PersistentVolume. Data on the volume is lost!"
	waits     = "WaitForFirstConsumer: waiting for first consumer to be created before binding"
	external  = "ExternalProvisioning: Waiting for a volume to be created either by the external provisioner 'x.y/z' or manually by the system administrator. " +
		"If volume creation is delayed, please verify that the provisioner is running and correctly registered."
)

type claimCase struct {
	claim   *corev1.PersistentVolumeClaim
	volumes []*corev1.PersistentVolume
	want    string
}

func block(v *corev1.PersistentVolume)   { v.Spec.VolumeMode = ptr.To(corev1.PersistentVolumeBlock) }
func going(v *corev1.PersistentVolume)   { v.DeletionTimestamp = &metav1.Time{} }
func gold(v *corev1.PersistentVolume)    { v.Spec.VolumeAttributesClassName = ptr.To("gold") }
func inFast(v *corev1.PersistentVolume)  { v.Spec.StorageClassName = "fast" }
func labeled(v *corev1.PersistentVolume) { v.Labels = map[string]string{"x": "y"} }
func manyModes(v *corev1.PersistentVolume) {
	v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadWriteMany}
}

func claimCases() map[string]claimCase {
	type volumes = []*corev1.PersistentVolume
	selecting := func(c *corev1.PersistentVolumeClaim) {
		c.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"x": "y"}}
	}
	wantsGold := func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeAttributesClassName = ptr.To("gold") }
	beta := func(c *corev1.PersistentVolumeClaim) {
		c.Spec.StorageClassName, c.Annotations[corev1.BetaStorageClassAnnotation] = nil, "fast"
	}
	onNode := func(c *corev1.PersistentVolumeClaim) { c.Annotations[selectedNode] = "n" }
	asked := func(c *corev1.PersistentVolumeClaim) {
		c.Annotations[provisioner], c.Annotations["volume.beta.kubernetes.io/storage-provisioner"] = "x.y/z", "x.y/z"
	}
	return map[string]claimCase{
		"smallest":              {claim(), volumes{volume("u", "9Gi"), volume("v", "2Gi"), volume("w", "1Gi")}, reserve},
		"fewest modes first":    {claim(), volumes{volume("u", "2Gi", manyModes), volume("v", "9Gi")}, reserve},
		"more modes":            {claim(), volumes{volume("v", "9Gi", manyModes)}, reserve},
		"too small":             {claim(), volumes{volume("v", "1Gi")}, noClass},
		"another volume mode":   {claim(), volumes{volume("v", "2Gi", block)}, noClass},
		"another class":         {claim(), volumes{volume("v", "2Gi", inFast)}, noClass},
		"beta class":            {claim(beta), volumes{volume("v", "2Gi", inFast)}, "update v, Available, for c(uid-c), by controller"},
		"not available yet":     {claim(), volumes{volume("v", "2Gi", phase(corev1.VolumePending))}, noClass},
		"being deleted":         {claim(), volumes{volume("v", "2Gi", going)}, noClass},
		"selector":              {claim(selecting), volumes{volume("u", "2Gi"), volume("v", "2Gi", labeled)}, reserve},
		"no attributes class":   {claim(wantsGold), volumes{volume("v", "2Gi")}, noClass},
		"attributes class":      {claim(wantsGold), volumes{volume("v", "2Gi", gold)}, reserve},
		"unwanted attributes":   {claim(), volumes{volume("v", "2Gi", gold)}, noClass},
		"of another claim":      {claim(), volumes{volume("v", "2Gi", ref("d", ""))}, noClass},
		"of an earlier claim":   {claim(), volumes{volume("v", "2Gi", ref("c", "uid-old"))}, noClass},
		"reserved comes first":  {claim(), volumes{volume("u", "2Gi"), volume("v", "9Gi", manyModes, ref("c", ""))}, "update v, Available, for c(uid-c)"},
		"second step":           {claim(), volumes{volume("v", "5Gi", ref("c", "uid-c", byController))}, "status v, Bound, for c(uid-c), by controller"},
		"third step":            {claim(), volumes{volume("v", "5Gi", ref("c", "uid-c", byController), phase(corev1.VolumeBound))}, "update claim, Pending, size 0, names v, class , bind-completed, bound-by-controller"},
		"fourth step":           {claim(volumeName("v", done, byController)), volumes{volume("v", "5Gi", ref("c", "uid-c", byController), phase(corev1.VolumeBound))}, "status claim, Bound, size 5Gi, names v, class , bind-completed, bound-by-controller"},
		"nothing to do":         {claim(boundClaim), volumes{volume("v", "5Gi", ref("c", "uid-c", byController), phase(corev1.VolumeBound))}, ""},
		"expanded":              {claim(boundClaim), volumes{volume("v", "9Gi", ref("c", "uid-c", byController), phase(corev1.VolumeBound))}, ""},
		"lost":                  {claim(boundClaim), nil, lostClaim},
		"misbound":              {claim(boundClaim), volumes{volume("v", "5Gi", ref("d", "uid-d"))}, misbound},
		"lost its claimRef":     {claim(boundClaim), volumes{volume("v", "5Gi")}, reserve},
		"lost its name":         {claim(boundClaim, volumeName("")), nil, "status claim, Lost, size 0, names , class , bind-completed, bound-by-controller, ClaimLost: Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"},
		"named":                 {claim(volumeName("v")), volumes{volume("v", "5Gi")}, reserve},
		"named, third step":     {claim(volumeName("v")), volumes{volume("v", "5Gi", ref("c", "uid-c", byController), phase(corev1.VolumeBound))}, "update claim, Pending, size 0, names v, class , bind-completed"},
		"named, both ways":      {claim(volumeName("v")), volumes{volume("v", "5Gi", ref("c", ""))}, "update v, Available, for c(uid-c)"},
		"named, not there":      {claim(volumeName("v")), nil, ""},
		"named, too small":      {claim(volumeName("v")), volumes{volume("v", "1Gi")}, `VolumeMismatch: Cannot bind to requested volume "v": requested PV is too small`},
		"named, another class":  {claim(volumeName("v")), volumes{volume("v", "5Gi", inFast)}, `VolumeMismatch: Cannot bind to requested volume "v": storageClassName does not match`},
		"named, another mode":   {claim(volumeName("v")), volumes{volume("v", "5Gi", block)}, `VolumeMismatch: Cannot bind to requested volume "v": incompatible volumeMode`},
		"named, being deleted":  {claim(volumeName("v")), volumes{volume("v", "5Gi", going)}, `VolumeMismatch: Cannot bind to requested volume "v": the volume is marked for deletion "v"`},
		"named, attributes":     {claim(volumeName("v")), volumes{volume("v", "5Gi", gold)}, `VolumeMismatch: Cannot bind to requested volume "v": VolumeAttributesClassName does not match`},
		"named, of another":     {claim(volumeName("v")), volumes{volume("v", "5Gi", ref("d", "uid-d"))}, `FailedBinding: volume "v" already bound to a different claim.`},
		"waits":                 {claim(class("late")), volumes{volume("v", "2Gi", func(v *corev1.PersistentVolume) { v.Spec.StorageClassName = "late" })}, waits},
		"waits, reserved":       {claim(class("late")), volumes{volume("v", "2Gi", ref("c", ""))}, "update v, Available, for c(uid-c)"},
		"has a node":            {claim(class("late"), onNode), volumes{volume("v", "2Gi", func(v *corev1.PersistentVolume) { v.Spec.StorageClassName = "late" })}, reserve},
		"asks its provisioner":  {claim(class("fast")), nil, "update claim, Pending, size 0, names , class fast, storage-provisioner"},
		"waits for provisioner": {claim(class("fast"), asked), nil, external},
		"unknown class":         {claim(class("gone")), nil, `ProvisioningFailed: storageclass.storage.k8s.io "gone" not found`},
		"no provisioner":        {claim(class("manual")), nil, "ProvisioningFailed: no volume plugin matched name: kubernetes.io/no-provisioner"},
		"gets the default":      {claim(func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = nil }), nil, "update claim, Pending, size 0, names , class new"},
	}
}

func TestClaim(t *testing.T) {
	isDefault := map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
	classes := []*storagev1.StorageClass{
		storageClass("fast", "x.y/z", storagev1.VolumeBindingImmediate, nil, 9),
		storageClass("late", "x.y/z", storagev1.VolumeBindingWaitForFirstConsumer, nil, 9),
		storageClass("manual", "kubernetes.io/no-provisioner", storagev1.VolumeBindingImmediate, nil, 9),
		storageClass("old", "x.y/z", storagev1.VolumeBindingImmediate, isDefault, 9),
		storageClass("new", "x.y/z", storagev1.VolumeBindingImmediate, isDefault, 1),
		storageClass("newer-name", "x.y/z", storagev1.VolumeBindingImmediate, isDefault, 1),
	}
	for name, test := range claimCases() {
		t.Run(name, func(t *testing.T) {
			in := Claimed{Claim: test.claim, Candidates: test.volumes, Classes: classes}
			for _, v := range test.volumes {
				if v.Name == test.claim.Spec.VolumeName {
					in.Volume = v
				}
			}
			before := test.claim.DeepCopy()
			step, err := Claim(in)
			if got := text(step); err != nil || got != test.want {
				t.Errorf("got  %s\nwant %s\n%v", got, test.want, err)
			}
			if !apiequality.Semantic.DeepEqual(before, test.claim) {
				t.Error("the argument has changed")
			}
		})
	}
}

// TestVolume has a table of volumes with the claim c, or without it.
func TestVolume(t *testing.T) {
	policy := func(p corev1.PersistentVolumeReclaimPolicy) func(*corev1.PersistentVolume) {
		return func(v *corev1.PersistentVolume) { v.Spec.PersistentVolumeReclaimPolicy = p }
	}
	hostPath := func(path string) func(*corev1.PersistentVolume) {
		return func(v *corev1.PersistentVolume) { v.Spec.HostPath = &corev1.HostPathVolumeSource{Path: path} }
	}
	provisionedBy := func(v *corev1.PersistentVolume) { v.Annotations["pv.kubernetes.io/provisioned-by"] = "x.y/z" }
	mine, isReleased, deletes := ref("c", "uid-c", byController), phase(corev1.VolumeReleased), policy(corev1.PersistentVolumeReclaimDelete)
	for name, test := range map[string]struct {
		volume *corev1.PersistentVolume
		claim  *corev1.PersistentVolumeClaim
		want   string
	}{
		"new":                    {volume("v", "1Gi", phase(corev1.VolumePending)), nil, "status v, Available"},
		"nothing to do":          {volume("v", "1Gi"), nil, ""},
		"freed after a failure":  {volume("v", "1Gi", phase(corev1.VolumeFailed)), nil, "status v, Available"},
		"reserved":               {volume("v", "1Gi", phase(corev1.VolumePending), ref("c", "")), claim(), "status v, Available, for c()"},
		"not named yet":          {volume("v", "1Gi", mine), claim(), ""},
		"modes":                  {volume("v", "1Gi", mine, block), claim(), `VolumeMismatch: Cannot bind PersistentVolume to requested PersistentVolumeClaim "c" due to incompatible volumeMode., VolumeMismatch: Cannot bind PersistentVolume "v" to requested PersistentVolumeClaim due to incompatible volumeMode.`},
		"bound":                  {volume("v", "1Gi", mine), claim(boundClaim), "status v, Bound, for c(uid-c), by controller"},
		"claim has another":      {volume("v", "1Gi", mine), claim(volumeName("w")), "update v, Available"},
		"user's, has another":    {volume("v", "1Gi", ref("c", "uid-c")), claim(volumeName("w")), "update v, Available, for c()"},
		"provisioned in vain":    {volume("v", "1Gi", mine, provisionedBy, deletes), claim(volumeName("w")), "status v, Released, for c(uid-c), by controller"},
		"claim is gone":          {volume("v", "1Gi", mine, phase(corev1.VolumeBound)), nil, "status v, Released, for c(uid-c), by controller"},
		"another claim":          {volume("v", "1Gi", ref("c", "uid-old"), phase(corev1.VolumeBound)), claim(), "status v, Released, for c(uid-old)"},
		"retained":               {volume("v", "1Gi", mine, isReleased), nil, ""},
		"no recycler":            {volume("v", "1Gi", mine, isReleased, policy(corev1.PersistentVolumeReclaimRecycle)), nil, "status v, Failed, for c(uid-c), by controller, VolumeFailedRecycle: No recycler plugin found for the volume!"},
		"no deleter":             {volume("v", "1Gi", mine, isReleased, deletes), nil, `status v, Failed, for c(uid-c), by controller, VolumeFailedDelete: error getting deleter volume plugin for volume "v": no deletable volume plugin matched`},
		"host path":              {volume("v", "1Gi", mine, isReleased, deletes, hostPath("/tmp/x")), nil, "delete v, Released, for c(uid-c), by controller"},
		"host path, going":       {volume("v", "1Gi", mine, isReleased, deletes, hostPath("/tmp/x"), going), nil, ""},
		"another host path":      {volume("v", "1Gi", mine, isReleased, deletes, hostPath("/data")), nil, "status v, Failed, for c(uid-c), by controller, VolumeFailedDelete: host_path deleter only supports /tmp/.+ but received provided /data"},
		"external deleter":       {volume("v", "1Gi", mine, isReleased, deletes, provisionedBy), nil, ""},
		"failed":                 {volume("v", "1Gi", mine, phase(corev1.VolumeFailed), deletes), nil, ""},
		"reserved, claim absent": {volume("v", "1Gi", ref("c", "")), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			before := test.volume.DeepCopy()
			if got := text(Volume(test.volume, test.claim, Recycling{})); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if !apiequality.Semantic.DeepEqual(before, test.volume) {
				t.Error("the argument has changed")
			}
		})
	}
}
