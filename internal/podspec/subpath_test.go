package podspec

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestSubPathProblem(t *testing.T) {
	for expr, want := range map[string]string{
		"":                     "",
		"a/$(NAME)":            "",
		"$(NAME)":              "",
		"$(ROOT)":              "error SubPath `/tmp` must not be an absolute path",
		"a/$(UP)":              "unable to provision SubPath `a/..`: must not contain '..'",
		"$(FROM_CONFIG)/$(UP)": "",
	} {
		c := &corev1.Container{
			Env: []corev1.EnvVar{
				{Name: "NAME", Value: "web"},
				{Name: "ROOT", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['path']"}}},
				{Name: "UP", Value: ".."},
				{Name: "FROM_CONFIG", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{Key: "k"}}},
			},
			VolumeMounts: []corev1.VolumeMount{{Name: "v", SubPathExpr: expr}},
		}
		pod := &corev1.Pod{}
		pod.Annotations = map[string]string{"path": "/tmp"}
		if got := SubPathProblem(pod, c); got != want {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
}
