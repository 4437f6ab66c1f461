package validation

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestValidateRestartRules(t *testing.T) {
	rule := func(values int) corev1.ContainerRestartRule {
		return corev1.ContainerRestartRule{
			Action:    corev1.ContainerRestartRuleActionRestartAllContainers,
			ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: make([]int32, values)},
		}
	}
	for _, tt := range []struct {
		name  string
		rules []corev1.ContainerRestartRule
		want  string
	}{
		{"as many as may be", slices.Repeat([]corev1.ContainerRestartRule{rule(255)}, 20), ""},
		{"too many rules", slices.Repeat([]corev1.ContainerRestartRule{rule(1)}, 21), "c.restartPolicyRules: Too many: 21: must have at most 20 items"},
		{"too many codes", []corev1.ContainerRestartRule{rule(1), rule(256)}, "c.restartPolicyRules[1].exitCodes.values: Too many: 256: must have at most 255 items"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			policy := corev1.ContainerRestartPolicyNever
			got := ""
			if err := validateRestartRules(field.NewPath("c"), &policy, tt.rules).ToAggregate(); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
