package releases

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write the recordings")

// TestRecordings compares the recordings with the sources of the releases, which it downloads.
func TestRecordings(t *testing.T) {
	for file, record := range map[string]func() (string, error){
		"../../../internal/releases/gates.txt":                         recordGates,
		"../../../internal/releases/fields.txt":                        recordFields,
		"../../../apiserver/internal/resources/testdata/discovery.txt": recordAPIs,
	} {
		text, err := record()
		if err != nil {
			t.Skip(err)
		}
		if *update {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		recorded, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(recorded) != text {
			t.Errorf("%s differs from the releases: -update rewrites it", file)
		}
	}
}
