package releases

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// patches are the patch releases that were recorded.
var patches = []string{"1.30.14", "1.31.14", "1.32.13", "1.33.13", "1.34.4", "1.35.4", "1.36.3", "1.37.2"}

// oldest is the minor version of the first of them.
const oldest = 30

// source returns the folder with the sources of a module of k8s.io at a release of Kubernetes.
func source(module, patch string) (string, error) {
	version := "v" + patch
	if module != "kubernetes" {
		version = "v0" + strings.TrimPrefix(patch, "1")
	}
	cmd := exec.Command("go", "mod", "download", "-json", "k8s.io/"+module+"@"+version)
	cmd.Dir = os.TempDir() // outside of a module, whose versions would count
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod")
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("downloading k8s.io/%s@%s: %w: %s", module, version, err, out)
	}
	var info struct{ Dir string }
	if err := json.Unmarshal(out, &info); err != nil {
		return "", err
	}
	return info.Dir, nil
}

// spans are the releases in which something held, each as true.
type spans [8]bool

// String formats the spans as in "30-33,36-": without an end if they last.
func (s spans) String() string {
	var all []string
	for i := 0; i < len(s); i++ {
		if !s[i] {
			continue
		}
		first := i
		for i+1 < len(s) && s[i+1] {
			i++
		}
		text := fmt.Sprint(oldest + first)
		switch {
		case i == len(s)-1:
			text += "-"
		case i > first:
			text += fmt.Sprintf("-%d", oldest+i)
		}
		all = append(all, text)
	}
	return strings.Join(all, ",")
}
