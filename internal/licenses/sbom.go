package licenses

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"strings"
)

// The types of a bill of materials in CycloneDX 1.6, as far as it is written here.
type (
	bill struct {
		Format       string          `json:"bomFormat"`
		Spec         string          `json:"specVersion"`
		Version      int             `json:"version"`
		Metadata     billMetadata    `json:"metadata"`
		Components   []billComponent `json:"components"`
		Dependencies []billRelation  `json:"dependencies"`
	}
	billMetadata struct {
		Component billComponent `json:"component"`
	}
	billComponent struct {
		Type     string        `json:"type"`
		Ref      string        `json:"bom-ref"`
		Name     string        `json:"name"`
		Version  string        `json:"version,omitempty"`
		Hashes   []billHash    `json:"hashes,omitempty"`
		Licenses []billLicense `json:"licenses"`
		PURL     string        `json:"purl"`
	}
	billHash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	billLicense struct {
		License struct {
			ID   string `json:"id,omitempty"` // of SPDX
			Name string `json:"name,omitempty"`
		} `json:"license"`
	}
	billRelation struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn,omitempty"`
	}
)

// ReadProgram returns the bill of materials of a program that was built from Ponder, in CycloneDX 1.6. It
// returns an error if the program contains a module without a known license. version is that of Ponder. The
// hash of a module is that of go.sum.
func ReadProgram(f *os.File, version string) ([]byte, error) {
	info, err := buildinfo.Read(f)
	if err != nil {
		return nil, fmt.Errorf("read the modules of %s: %w", f.Name(), err)
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	return newBill(info, version, hash.Sum(nil))
}

func newBill(info *debug.BuildInfo, version string, hash []byte) ([]byte, error) {
	sections, err := Sections()
	if err != nil {
		return nil, err
	}
	known := Components(sections)
	names := moduleLicenses(known[0].Texts[1])
	b := bill{Format: "CycloneDX", Spec: "1.6", Version: 1}
	b.Metadata.Component = billComponent{
		Type: "application", Name: "ponder", Version: version, PURL: packageURL("golang", info.Main.Path, version),
		Hashes: []billHash{{"SHA-256", hex.EncodeToString(hash)}}, Licenses: billLicenses(known[0].Licenses),
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		i := slices.IndexFunc(known, func(c Component) bool { return c.Name == m.Path && c.Version == m.Version })
		if i < 0 || len(names[m.Path]) == 0 {
			return nil, fmt.Errorf("no license of %s %s: run scripts/licences --write", m.Path, m.Version)
		}
		sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
		if err != nil || len(sum) != sha256.Size {
			return nil, fmt.Errorf("%s %s has no hash", m.Path, m.Version)
		}
		b.Components = append(b.Components, billComponent{
			Type: "library", Name: m.Path, Version: m.Version, PURL: packageURL("golang", m.Path, m.Version),
			Hashes: []billHash{{"SHA-256", hex.EncodeToString(sum)}}, Licenses: billLicenses(names[m.Path]),
		})
	}
	for _, c := range known[1:] {
		part := billComponent{Type: "data", Name: c.Name, Licenses: billLicenses(c.Licenses), PURL: packageURL("generic", c.Name, "")}
		switch {
		case c.Version != "":
			continue // a module
		case c.Name == "Go":
			part.Type, part.Name, part.Version = "library", "std", info.GoVersion
			part.PURL = packageURL("golang", "std", strings.TrimPrefix(info.GoVersion, "go"))
		case c.Name == "PDFium":
			part.Type = "library"
		}
		b.Components = append(b.Components, part)
	}
	b.setReferences()
	return json.MarshalIndent(b, "", "  ")
}

// setReferences makes the program depend on all components.
func (b *bill) setReferences() {
	main := billRelation{Ref: b.Metadata.Component.PURL}
	b.Metadata.Component.Ref = main.Ref
	for i := range b.Components {
		b.Components[i].Ref = b.Components[i].PURL
		main.DependsOn = append(main.DependsOn, b.Components[i].PURL)
	}
	b.Dependencies = []billRelation{main}
}

// moduleLicenses returns the licenses of each module in the list of NOTICE, by path.
func moduleLicenses(notice string) map[string][]string {
	_, list, _ := strings.Cut(notice, "\nGo modules")
	names := make(map[string][]string)
	for line := range strings.Lines(list) {
		if path, licenses, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && strings.HasPrefix(line, "  ") {
			names[path] = strings.Split(licenses, ", ")
		}
	}
	return names
}

// spdx are the licenses in NOTICE with an identifier of SPDX.
var spdx = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0", "Unicode-3.0"}

func billLicenses(names []string) []billLicense {
	var list []billLicense
	for _, name := range names {
		var l billLicense
		switch {
		case slices.Contains(spdx, name):
			l.License.ID = name
		case name == "public domain":
			l.License.Name = name
		default:
			continue // a text that is no license, such as NOTICE
		}
		list = append(list, l)
	}
	return list
}

// packageURL returns a package URL (purl). Its type decides about the letters of names.
func packageURL(kind, name, version string) string {
	parts := strings.Split(strings.ToLower(name), "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	text := "pkg:" + kind + "/" + strings.Join(parts, "/")
	if version != "" {
		text += "@" + strings.ReplaceAll(url.PathEscape(version), "+", "%2B")
	}
	return text
}
