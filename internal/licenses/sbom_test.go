package licenses

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/url"
	"os"
	"path"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// readSchema returns a schema of testdata.
func readSchema(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	f, err := os.Open("testdata/" + name + ".gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	s := new(jsonschema.Schema)
	if err := json.Unmarshal(text, s); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return s
}

// The signature of a bill is not written here, so its schema permits all.
func resolveSchema(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	r, err := readSchema(t, "bom-1.6.schema.json").Resolve(&jsonschema.ResolveOptions{
		Loader: func(uri *url.URL) (*jsonschema.Schema, error) {
			if base := path.Base(uri.Path); base == "spdx.schema.json" {
				return readSchema(t, base), nil
			}
			return &jsonschema.Schema{Schema: "http://json-schema.org/draft-07/schema#", Definitions: map[string]*jsonschema.Schema{"signature": {}}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// buildInfo returns the build information of a program with all known modules.
func buildInfo(t *testing.T) *debug.BuildInfo {
	t.Helper()
	sections, err := Sections()
	if err != nil {
		t.Fatal(err)
	}
	info := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Path: "ponder"}}
	for _, c := range Components(sections) {
		if c.Version != "" {
			info.Deps = append(info.Deps, &debug.Module{Path: c.Name, Version: c.Version, Sum: "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="})
		}
	}
	return info
}

func TestBill(t *testing.T) {
	info := buildInfo(t)
	text, err := newBill(info, "v1.2.3+dirty", make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	schema := resolveSchema(t)
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(v); err != nil {
		t.Error(err)
	}
	var b bill
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	refs := make(map[string]bool)
	for _, c := range append(b.Components, b.Metadata.Component) {
		if len(c.Licenses) == 0 || c.PURL == "" || c.Ref != c.PURL || refs[c.Ref] {
			t.Errorf("%+v", c)
		}
		refs[c.Ref] = true
		if isModule := strings.Contains(c.PURL, "@v"); isModule && (len(c.Hashes) != 1 || len(c.Hashes[0].Content) != 64) {
			t.Errorf("%s has hashes %+v", c.Name, c.Hashes)
		}
	}
	if len(refs) < len(info.Deps)+5 || len(b.Dependencies) != 1 || len(b.Dependencies[0].DependsOn) != len(b.Components) {
		t.Errorf("%d components of %d modules, %d relations", len(refs), len(info.Deps), len(b.Dependencies))
	}
	for _, want := range []string{
		`"pkg:golang/modernc.org/sqlite@v`, `"pkg:golang/ponder@v1.2.3%2Bdirty"`, `"pkg:golang/std@1.26.8"`, `"pkg:generic/pdfium"`, `"pkg:generic/public%20suffix%20list"`,
		`"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"`, `"pkg:golang/github.com/burntsushi/toml@v`,
	} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("no %s", want)
		}
	}
	v["components"].([]any)[0].(map[string]any)["licenses"] = []any{map[string]any{"license": map[string]any{"id": "copyleft"}}}
	if schema.Validate(v) == nil {
		t.Error("the schema permits an unknown license")
	}
}

func TestBillErrors(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*debug.Module)
		want   string
	}{
		"unknown module":  {func(m *debug.Module) { m.Path = "example.org/new" }, "no license of example.org/new"},
		"another version": {func(m *debug.Module) { m.Version = "v99.0.0" }, "run scripts/licences --write"},
		"no sum":          {func(m *debug.Module) { m.Sum = "" }, "has no hash"},
		"replaced":        {func(m *debug.Module) { m.Replace = &debug.Module{Path: "../x"} }, "no license of ../x"},
	} {
		info := buildInfo(t)
		c.change(info.Deps[0])
		if _, err := newBill(info, "v1", nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f, err := os.Open("sbom.go")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := ReadProgram(f, "v1"); err == nil || !strings.Contains(err.Error(), "read the modules of sbom.go: ") {
		t.Errorf("no program: %v", err)
	}
}
