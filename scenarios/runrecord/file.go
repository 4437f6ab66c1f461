package runrecord

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// FileName is what a run is called in a directory of its own.
const FileName = "run.json"

// Save writes the run as JSON.
func (r *Run) Save(w io.Writer) error {
	encoder := json.NewEncoder(w)
	if err := encoder.Encode(r); err != nil {
		return fmt.Errorf("writing the run of %s: %w", r.Scenario.Name, err)
	}
	return nil
}

// Load reads a run that was saved, from its file or from the directory that it is in.
func Load(path string) (*Run, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading a saved run: %w", err)
	}
	if info.IsDir() {
		path = filepath.Join(path, FileName)
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && info.IsDir() {
		return nil, fmt.Errorf("the directory %s has no run in it: there is no %s", filepath.Dir(path), FileName)
	}
	if err != nil {
		return nil, fmt.Errorf("reading a saved run: %w", err)
	}
	var run Run
	if err := json.Unmarshal(data, &run); err != nil {
		return nil, fmt.Errorf("%s is not a saved run: %w", path, err)
	}
	switch {
	case run.Kind != Kind:
		return nil, fmt.Errorf("%s is not a saved run: its kind is %q, not %s; \"minikcm scenario run --save\" makes one", path, run.Kind, Kind)
	case run.APIVersion != APIVersion:
		return nil, fmt.Errorf("%s was saved as %s, and this minikcm reads %s", path, run.APIVersion, APIVersion)
	}
	return &run, nil
}
