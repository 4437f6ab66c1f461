package controllers_test

import (
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/minikcmtest"
)

// TestQuotaOfDevices limits the devices of a class that the claims of a namespace request.
func TestQuotaOfDevices(t *testing.T) {
	t.Parallel()
	cluster := minikcmtest.New(t, minikcmtest.WithVirtualTime())
	ctx, client := t.Context(), cluster.Client()
	const devices = "gpu.deviceclass.resource.k8s.io/devices"
	newQuota(t, client, amounts(devices, "3", "count/resourceclaims.resource.k8s.io", "5"))
	cluster.Eventually("all to be counted", quotaUsed(devices, "0", "count/resourceclaims.resource.k8s.io", "0"))
	claims := client.ResourceV1().ResourceClaims("default")
	claim := func(name string) *resourcev1.ResourceClaim {
		c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
		c.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", Count: 2}}}
		return c
	}
	if _, err := claims.Create(ctx, claim("a"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := quotaUsed(devices, "2", "count/resourceclaims.resource.k8s.io", "1")(ctx, client); err != nil {
		t.Errorf("when the claim is admitted: %v", err)
	}
	_, err := claims.Create(ctx, claim("b"), metav1.CreateOptions{})
	wantForbidden(t, err, `resourceclaims.resource.k8s.io "b" is forbidden: exceeded quota: q, requested: `+devices+`=2, used: `+devices+`=2, limited: `+devices+`=3`)
	if err := claims.Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually("the devices to be free", quotaUsed(devices, "0", "count/resourceclaims.resource.k8s.io", "0"))
}
