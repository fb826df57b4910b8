import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

// The build is the same on every machine: no dates, no absolute paths, names by content.
export default defineConfig({
  plugins: [svelte()],
  base: './',
  build: {
    target: 'es2022',
    assetsInlineLimit: 0, // the Content-Security-Policy allows no data: scripts or styles
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 4096,
    // Frames without origin draw foreign diagrams: the server gives files below assets/ a policy of their own.
    rollupOptions: { input: ['index.html', 'assets/diagram.html'] },
  },
  server: { proxy: { '/api': 'http://127.0.0.1:8744' } },
});
