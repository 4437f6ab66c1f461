//go:build unix

package ha

import (
	"bufio"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"minikcm.dev/minikcm/test/binary"
)

// TestRolloutStatus kills each of three processes while "kubectl rollout status" follows a
// rollout through another one, which must not notice.
func TestRolloutStatus(t *testing.T) {
	if *duration == 0 {
		t.Skip("it starts six processes: make ha runs it")
	}
	_, addresses := startMembers(t, 3)
	program := binary.Path(t)
	servers := newServers(t, program, 3, addresses)
	deployments := servers[0].client.AppsV1().Deployments("default")
	if _, err := deployments.Create(t.Context(), slowDeployment(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if out := follow(t, program, servers[1], nil); !strings.HasSuffix(out, "successfully rolled out\n") {
		t.Fatalf("the first rollout: %s", out)
	}
	for i, victim := range servers {
		through := servers[(i+1)%len(servers)]
		patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"round":"%d"}}}}}`, i)
		if _, err := through.client.AppsV1().Deployments("default").Patch(t.Context(), "slow", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		if out := follow(t, program, through, victim.kill); !strings.HasSuffix(out, "successfully rolled out\n") {
			t.Errorf("after %s was killed: %s", victim.name, out)
		}
		victim.start()
		eventually(t, victim.name+" to serve again", victim.ready)
	}
}

// slowDeployment has a rollout of several waves of pods, each of which takes more than a second.
func slowDeployment() *appsv1.Deployment {
	replicas, labels, one := int32(6), map[string]string{"app": "slow"}, intstr.FromInt32(1)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "slow"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, MinReadySeconds: 1, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &one, MaxUnavailable: &one}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}}},
		},
	}
}

// follow runs "kubectl rollout status" through a process, calls during when it has printed a
// line, and returns what it prints. The test fails if it fails, or prints an error or warning.
func follow(t *testing.T, program string, through *server, during func()) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, "kubectl", "--kubeconfig", through.kubeconfig,
		"rollout", "status", "deployment/slow", "--timeout", patience.String())
	var errOut, out strings.Builder
	command.Stderr = &errOut
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		fmt.Fprintln(&out, lines.Text())
		if during != nil {
			during()
			during = nil
		}
	}
	if err := command.Wait(); err != nil || errOut.Len() > 0 {
		t.Errorf("kubectl rollout status ends with %v: %s%s", err, &out, &errOut)
	}
	return out.String()
}
