package plugins

import (
	"fmt"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// The versions of the configurations of the plugins for webhooks and policies.
const (
	configV1       = "apiserver.config.k8s.io/v1"
	configV1alpha1 = "apiserver.config.k8s.io/v1alpha1"
)

// hooksConfig is the configuration of a plugin for webhooks or policies.
type hooksConfig struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// KubeConfigFile has the credentials for webhooks.
	KubeConfigFile string `json:"kubeConfigFile,omitempty"`
	// StaticManifestsDir is a folder with webhook configurations, or policies and bindings.
	StaticManifestsDir string `json:"staticManifestsDir,omitempty"`
}

// useManifests lets the hooks use the folder in a configuration of this kind, if there is one.
func (h *Host) useManifests(config []byte, kind string, plurals ...string) error {
	if len(config) == 0 {
		return nil
	}
	var parsed hooksConfig
	if err := yaml.UnmarshalStrict(config, &parsed); err != nil {
		return err
	}
	webhooks := kind == webhookConfig
	old := webhooks && parsed.APIVersion == configV1alpha1 && parsed.Kind == "WebhookAdmission"
	switch {
	case !old && (parsed.APIVersion != configV1 || parsed.Kind != kind):
		return fmt.Errorf("its apiVersion and kind are %q and %q: they must be %s and %s", parsed.APIVersion, parsed.Kind, configV1, kind)
	case parsed.KubeConfigFile != "" && !webhooks:
		return fmt.Errorf("unknown field \"kubeConfigFile\" of %s", kind)
	case parsed.KubeConfigFile != "" && !filepath.IsAbs(parsed.KubeConfigFile):
		return fmt.Errorf("kubeConfigFile: Invalid value: %q: must be an absolute file path", parsed.KubeConfigFile)
	case parsed.StaticManifestsDir != "" && old:
		return fmt.Errorf("unknown field \"staticManifestsDir\" of %s", configV1alpha1)
	case parsed.StaticManifestsDir == "":
		return nil
	}
	return h.Hooks.UseManifests(parsed.StaticManifestsDir, plurals...)
}

// webhookConfig is the kind of the configurations of both plugins for webhooks.
const webhookConfig = "WebhookAdmissionConfiguration"

func (h *Host) newMutatingPolicies(config []byte) (any, error) {
	return h.Hooks.MutatingPolicies(), h.useManifests(config, "MutatingAdmissionPolicyConfiguration", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings")
}

func (h *Host) newValidatingPolicies(config []byte) (any, error) {
	return h.Hooks.ValidatingPolicies(), h.useManifests(config, "ValidatingAdmissionPolicyConfiguration", "validatingadmissionpolicies", "validatingadmissionpolicybindings")
}

func (h *Host) newMutatingWebhooks(config []byte) (any, error) {
	return h.Hooks.MutatingWebhooks(), h.useManifests(config, webhookConfig, "mutatingwebhookconfigurations")
}

func (h *Host) newValidatingWebhooks(config []byte) (any, error) {
	return h.Hooks.ValidatingWebhooks(), h.useManifests(config, webhookConfig, "validatingwebhookconfigurations")
}
