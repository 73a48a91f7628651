package gen

import (
	"bytes"
	"context"
	"path/filepath"

	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/schema"
)

// ResourceSchema returns the JSON Schema of the resources of one descriptor, for editors and for YAML
// that people write. It returns the same errors as [Generate].
func (in Input) ResourceSchema(ctx context.Context) ([]byte, error) {
	texts, err := eachModel(ctx, in, func(u *unit, pkg *model.Package) ([]byte, error) {
		s, err := schema.Of(pkg, u.index.Comments())
		return s.JSON, err
	})
	return bytes.Join(texts, nil), err
}

// Pages returns a page in Markdown for the type of each descriptor. The pages are files of the given
// folder, with the names of the packages. It returns the same errors as [Generate].
func (in Input) Pages(ctx context.Context, folder string) ([]File, error) {
	return eachModel(ctx, in, func(u *unit, pkg *model.Package) (File, error) {
		rel, err := filepath.Rel(folder, filepath.Dir(u.in.Path))
		if err != nil {
			return File{}, err
		}
		page, err := emit.Page(pkg, filepath.ToSlash(rel))
		return File{Path: filepath.Join(folder, pkg.Name+".md"), Data: page}, err
	})
}
