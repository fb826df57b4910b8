import { mount } from 'svelte';
import App from './App.svelte';
import { setTheme, storedTheme } from './lib/theme';
import './page.css';

setTheme(storedTheme());

mount(App, { target: document.getElementById('page')! });
