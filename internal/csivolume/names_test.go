package csivolume

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/utils/ptr"
)

func TestNames(t *testing.T) {
	t.Parallel()
	source := &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com", VolumeHandle: "vol-1"}
	if got, want := UniqueName(source), corev1.UniqueVolumeName("kubernetes.io/csi/ebs.csi.aws.com^vol-1"); got != want {
		t.Errorf("the volume is called %s, want %s", got, want)
	}
	// printf vol-1ebs.csi.aws.comnode-0 | sha256sum
	if got, want := AttachmentName(source, "node-0"), "csi-edf1111255cd45e8e8919c0edb47a7273ef6ade4a9a2c93485e42046a928b3d8"; got != want {
		t.Errorf("the attachment is called %s, want %s", got, want)
	}
}

func TestIsAttachmentName(t *testing.T) {
	t.Parallel()
	source := &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com", VolumeHandle: "vol-1"}
	own := AttachmentName(source, "node-0")
	for name, want := range map[string]bool{own: true, "va-e2e": false, "csi-": false, own + "0": false, own[:67] + "g": false, "x" + own[1:]: false} {
		if got := IsAttachmentName(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestRequiresAttach(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		driver *storagev1.CSIDriver
		want   bool
	}{
		"without a CSIDriver": {nil, true},
		"not stated":          {&storagev1.CSIDriver{}, true},
		"required":            {&storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{AttachRequired: ptr.To(true)}}, true},
		"not required":        {&storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{AttachRequired: ptr.To(false)}}, false},
	} {
		if got := RequiresAttach(tt.driver); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
