// The documentation site: the pages of docs/, with search, in light and dark.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'vitepress'

const docs = join(import.meta.dirname, '../../docs')
const source = 'https://github.com/xdsforge/xdsforge/blob/main/'

// title returns the first heading of a page.
const title = (page) => readFileSync(join(docs, page), 'utf8').match(/^# (.*)$/m)?.[1] ?? page

// pages returns an entry of the sidebar for each page of a folder but its README.
function pages(folder) {
  return readdirSync(join(docs, folder))
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .sort()
    .map((name) => ({ text: title(join(folder, name)), link: '/' + join(folder, name.replace(/\.md$/, '')) }))
}

// outside replaces a relative link to a file that is no page by a link to the repository.
function outside(md) {
  const original = md.renderer.rules.link_open ?? ((tokens, i, options, env, self) => self.renderToken(tokens, i, options))
  md.renderer.rules.link_open = (tokens, i, options, env, self) => {
    const href = tokens[i].attrGet('href')
    if (href && !/^[a-z]+:|^#|^\//.test(href)) {
      const page = join('docs', env.relativePath, '..', href.replace(/#.*/, ''))
      if (!page.startsWith('docs/') || !/\.md$/.test(page)) tokens[i].attrSet('href', source + page)
    }
    return original(tokens, i, options, env, self)
  }
}

export default defineConfig({
  title: 'xdsforge',
  description: 'Configuration from xDS control planes, for Go',
  srcDir: './pages',
  outDir: './dist',
  cacheDir: './cache',
  cleanUrls: true,
  lastUpdated: false,
  rewrites: { 'README.md': 'index.md', ':folder/README.md': ':folder/index.md' },
  markdown: { config: outside },

  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    socialLinks: [{ icon: 'github', link: 'https://github.com/xdsforge/xdsforge' }],
    sidebar: [
      { text: 'Guides', items: pages('guides') },
      { text: 'Reference', items: pages('.') },
      { text: 'Resource types', collapsed: true, items: pages('types') },
      { text: 'Decisions', collapsed: true, items: pages('adr') },
    ],
  },
})
