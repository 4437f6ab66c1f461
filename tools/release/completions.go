package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// completionFiles are the names under which the shells find the scripts.
var completionFiles = map[string]string{"bash": "minikcm.bash", "zsh": "_minikcm", "fish": "minikcm.fish", "powershell": "minikcm.ps1"}

// writeCompletions writes the completion scripts that the program prints.
func writeCompletions(program, out string) error {
	for shell, name := range completionFiles {
		script, err := exec.Command(program, "completion", shell).Output()
		if err != nil {
			return fmt.Errorf("%s completion %s: %w", program, shell, err)
		}
		if err := writeFile(filepath.Join(out, "completions", name), script); err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes a file and makes its folder.
func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}
