package viewapi

import (
	_ "embed"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/kubeletsim"
)

//go:embed staticpodfolder.yaml
var staticPodFolderDefinition []byte

func staticPodFolders() view {
	return view{
		kind: "StaticPodFolder", label: kubeletsim.LabelStaticPods, definition: staticPodFolderDefinition,
		encode: encodeFolder, decode: decodeFolder, problems: folderProblems,
	}
}

func folderProblems(c *corev1.ConfigMap) []problem {
	var all []problem
	for _, text := range kubeletsim.CheckStaticPods(c) {
		all = append(all, problem{why: text, text: text})
	}
	return all
}

// folderSpec is the spec of a StaticPodFolder: in its ConfigMap, an annotation, and a key for each manifest.
type folderSpec struct {
	NodeSelector string                     `json:"nodeSelector"`
	Manifests    map[string]json.RawMessage `json:"manifests"`
}

func encodeFolder(spec []byte, c *corev1.ConfigMap) error {
	var s folderSpec
	if err := json.Unmarshal(spec, &s); err != nil {
		return err
	}
	delete(c.Annotations, kubeletsim.AnnotationNodeSelector)
	if s.NodeSelector != "" {
		if c.Annotations == nil {
			c.Annotations = map[string]string{}
		}
		c.Annotations[kubeletsim.AnnotationNodeSelector] = s.NodeSelector
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s.Manifests)) {
		text, err := yaml.JSONToYAML(s.Manifests[name])
		errs = append(errs, err)
		c.Data[name] = string(text)
	}
	return errors.Join(errs...)
}

// decodeFolder shows manifests of one document. Others can be changed in the ConfigMap alone.
func decodeFolder(c *corev1.ConfigMap) map[string]any {
	spec, manifests := map[string]any{}, map[string]any{}
	for name, text := range c.Data {
		var manifest map[string]any
		if !strings.Contains(text, "\n---") && yaml.Unmarshal([]byte(text), &manifest) == nil && manifest != nil {
			manifests[name] = manifest
		}
	}
	if selector := c.Annotations[kubeletsim.AnnotationNodeSelector]; selector != "" {
		spec["nodeSelector"] = selector
	}
	spec["manifests"] = manifests
	return spec
}
