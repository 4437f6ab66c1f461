package releases

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// recordAPIs lists what discovery shows of each resource, with the releases in which it does. The
// discovery documents come from servers with all versions and gates on.
func recordAPIs() (string, error) {
	in := map[string]*spans{}
	for i, patch := range patches {
		dir, err := source("kubernetes", patch)
		if err != nil {
			return "", err
		}
		files, err := filepath.Glob(filepath.Join(dir, "api/discovery/api*__*.json"))
		if err != nil {
			return "", err
		}
		for _, file := range files {
			lines, err := resourceLines(file)
			if err != nil {
				return "", err
			}
			for _, line := range lines {
				if in[line] == nil {
					in[line] = &spans{}
				}
				in[line][i] = true
			}
		}
	}
	lines := make([]string, 0, len(in))
	for line, s := range in {
		lines = append(lines, fmt.Sprintf("%s %s\n", line, s))
	}
	slices.Sort(lines)
	return strings.Join(lines, ""), nil
}

func resourceLines(file string) ([]string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if list.Kind != "APIResourceList" {
		return nil, nil // the document of a group
	}
	var lines []string
	for _, r := range list.APIResources {
		kind := r.Kind
		if r.Version != "" {
			kind = strings.TrimPrefix(r.Group+"/"+r.Version+"/", "/") + kind
		}
		scope := "cluster"
		if r.Namespaced {
			scope = "namespaced"
		}
		lines = append(lines, fmt.Sprintf("%s %s %s %s %s short=%s categories=%s",
			list.GroupVersion, r.Name, kind, scope, strings.Join(r.Verbs, ","), strings.Join(r.ShortNames, ","), strings.Join(r.Categories, ",")))
	}
	return lines, nil
}
